// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// RESP, the protocol of Redis, versions 2 and 3: values as a server sends them, and how they are
// written. What clients send is read by resp_command.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace keymill::wire {

enum class RespType : std::uint8_t {
  kNull,       // "_", and the "$-1" and "*-1" of version 2.
  kSimple,     // "+OK"
  kError,      // "-ERR what": also the "!" of version 3, which may hold any bytes.
  kInteger,    // ":1"
  kBulk,       // "$": any bytes.
  kDouble,     // ","
  kBoolean,    // "#t"
  kBigNumber,  // "(": an integer of any size, kept as text.
  kVerbatim,   // "=": text with three letters that name its format, and a colon.
  kArray,      // "*"
  kMap,        // "%": keys and values in turn.
  kSet,        // "~"
  kPush,       // ">": what nobody asked for.
};

struct RespValue {
  RespType type = RespType::kNull;
  std::string text;              // kSimple, kError, kBulk, kBigNumber; kVerbatim, whole.
  std::int64_t integer = 0;      // kInteger; 0 or 1 for kBoolean.
  double number = 0;             // kDouble.
  std::vector<RespValue> items;  // kArray, kMap, kSet, kPush.
  // "|": what the server says about this value; keys and values in turn.
  std::vector<RespValue> attributes;

  [[nodiscard]] bool is_error() const { return type == RespType::kError; }
  friend bool operator==(const RespValue&, const RespValue&) = default;
};

// Whatever is larger is refused before memory is set aside for it.
struct RespLimits {
  std::size_t line_max = 64 * 1024;            // A line without its CRLF.
  std::size_t bulk_max = 16UL * 1024 * 1024;   // One string with a length.
  std::size_t elements_max = 1024UL * 1024;    // All values within one, it included.
  std::size_t total_max = 64UL * 1024 * 1024;  // Bytes of all texts within one value.
  std::size_t depth_max = 16;                  // Values within values.
};

// Reads values from bytes that come in pieces. What comes of them does not depend on where the
// pieces end. Every byte is looked at once; memory grows with what has arrived, never with what
// was announced.
class RespReader {
 public:
  explicit RespReader(const RespLimits& limits = {}) : limits_(limits) {}

  enum class Outcome : std::uint8_t { kWhole, kNeedMore, kMalformed };

  // Takes what it uses off `input`: all of it, unless a value is whole before. After kMalformed
  // nothing sensible can follow; the connection must be closed.
  Outcome Read(std::string_view& input);

  // The value that Read said was whole. The next one begins.
  RespValue Take();

  // Why it is malformed.
  [[nodiscard]] std::string_view detail() const { return detail_; }

 private:
  enum class State : std::uint8_t {
    kType,     // At the first byte of a value.
    kLine,     // In the line behind it.
    kLineEnd,  // At the LF of that line.
    kText,     // In the bytes of a string with a length.
    kTextCr,
    kTextLf,
    kWhole,
    kMalformed,
  };
  // A value whose items are still to come.
  struct Frame {
    RespValue value;
    std::size_t left = 0;
    bool attributes = false;  // Its items belong to the value behind it.
  };

  void OnType(char c);
  void TakeLine(std::string_view& input);
  void TakeText(std::string_view& input);
  void OnLine();
  void OnNumberLine();
  void OnLength();
  void OnCount();
  void OnDouble();
  void Expect(char c, char expected, State next);
  void FinishText();
  void Open(std::size_t items);
  void Finish(RespValue value);
  void Fail(std::string_view detail);

  const RespLimits limits_;
  State state_ = State::kType;
  char mark_ = 0;  // The first byte of the value that is being read.
  std::string line_;
  std::size_t text_left_ = 0;
  std::size_t elements_ = 0;
  std::size_t total_ = 0;
  RespValue value_;  // Being read; when kWhole, the result.
  std::vector<Frame> frames_;
  std::vector<RespValue> attributes_;  // For the value that comes next.
  bool has_attributes_ = false;
  std::string_view detail_;
};

// Appends values to a text that is sent later. In version 2, what that version does not have is
// written as what it has instead: a map as an array, a double as a bulk string, and so on.
class RespWriter {
 public:
  // `out` outlives the writer. `version` is 2 or 3.
  explicit RespWriter(std::string& out, int version = 3) : out_(out), version_(version) {}

  void Simple(std::string_view text);  // Line ends become spaces, here and in Error.
  void Error(std::string_view text);
  void Integer(std::int64_t integer);
  void Bulk(std::string_view text);
  void Null();
  void Double(double number);
  void Boolean(bool value);
  // REQUIRES: an integer in decimal.
  void BigNumber(std::string_view digits);
  // REQUIRES: begins with three letters and a colon.
  void Verbatim(std::string_view text);
  // Each is followed by its items: twice as many for a map.
  void Array(std::size_t items);
  void Map(std::size_t pairs);
  void Set(std::size_t items);
  void Push(std::size_t items);
  // Followed by its pairs and the value that they are about.
  // REQUIRES: version 3.
  void Attributes(std::size_t pairs);
  void Value(const RespValue& value);

 private:
  void Header(char mark, std::size_t count);
  void Line(char mark, std::string_view text);

  std::string& out_;
  const int version_;
};

// A command as clients send it.
void AppendRespCommand(std::span<const std::string_view> words, std::string& out);

}  // namespace keymill::wire
