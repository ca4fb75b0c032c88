// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/resp/mint_job.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "api/resp/errors.h"
#include "base/check.h"
#include "wire/resp.h"

namespace keymill::api::resp {
namespace {

// Keys encoded in one go.
constexpr std::uint32_t kBatch = 2048;
constexpr std::uint32_t kUnevenBatch = 64;

constexpr std::string_view kLineEnd = "\r\n";

// "$7\r\n"
struct BulkHead {
  std::array<char, 16> bytes{};
  std::size_t size = 0;
};

BulkHead HeadOf(std::size_t length) {
  BulkHead head;
  char* at = head.bytes.data();
  *at++ = '$';
  at = std::to_chars(at, head.bytes.data() + head.bytes.size() - 2, length).ptr;
  *at++ = '\r';
  *at++ = '\n';
  head.size = static_cast<std::size_t>(at - head.bytes.data());
  return head;
}

// Keys of one length are written in place: what separates two of them is always the same.
std::uint32_t AppendEven(mint::Keyspace& keyspace, std::uint32_t count, std::string& output) {
  const std::size_t size = keyspace.key_size_max();
  const BulkHead head = HeadOf(size);
  std::array<char, 24> between;
  kLineEnd.copy(between.data(), kLineEnd.size());
  std::copy_n(head.bytes.data(), head.size, between.data() + kLineEnd.size());
  const std::string_view after(between.data(), kLineEnd.size() + head.size);
  const std::size_t before = output.size();
  output.append(head.bytes.data(), head.size);
  output.resize(before + head.size + count * (size + after.size()));
  const keys::Written written = keyspace.TakeKeys(count, after, output.data() + before + head.size);
  // The last one has no other behind it.
  output.resize(written.keys == 0 ? before : before + written.bytes);
  return written.keys;
}

std::uint32_t AppendUneven(mint::Keyspace& keyspace, std::uint32_t count, std::string& output) {
  std::array<char, kUnevenBatch*(keys::kKeySizeMax + 1)> buffer;
  const keys::Written written =
      keyspace.TakeKeys(std::min(count, kUnevenBatch), "\n", buffer.data());
  std::string_view lines(buffer.data(), written.bytes);
  while (!lines.empty()) {
    const std::string_view key = lines.substr(0, lines.find('\n'));
    const BulkHead head = HeadOf(key.size());
    output.append(head.bytes.data(), head.size).append(key).append(kLineEnd);
    lines.remove_prefix(key.size() + 1);
  }
  return written.keys;
}

std::string Overflow(std::string_view name) {
  return fmt::format(
      "ERR increment or decrement would overflow: numbers of keyspace \"{}\" pass 2^53, above "
      "which clients may lose digits of an integer; use KEYMILL.MINT",
      name);
}

}  // namespace

std::uint32_t AppendKeys(mint::Keyspace& keyspace, std::uint32_t count, std::string& output) {
  return keyspace.fixed_key_size() ? AppendEven(keyspace, std::min(count, kBatch), output)
                                   : AppendUneven(keyspace, count, output);
}

std::uint32_t AppendNumbers(mint::CounterKeyspace& sequence, std::uint32_t count,
                            std::string& output) {
  const mint::Reservoir::Run run = sequence.Take(count, kIntegerLast);
  std::array<char, 24> line;
  line[0] = ':';
  for (std::uint64_t i = 0; i < run.count; ++i) {
    char* const end =
        std::to_chars(line.data() + 1, line.data() + line.size() - 2, run.first + i).ptr;
    end[0] = '\r';
    end[1] = '\n';
    output.append(line.data(), end + 2);
  }
  return static_cast<std::uint32_t>(run.count);
}

MintJob::MintJob(const Backend& backend, mint::Keyspace& keyspace, const MintWish& wish,
                 int version, MonotonicTime deadline, const net::Waker& waker)
    : backend_(backend),
      keyspace_(keyspace),
      waker_(waker),
      wish_(wish),
      version_(version),
      deadline_(deadline) {}

MintJob::~MintJob() { StopWaiting(); }

Progress MintJob::Continue(std::string& output) {
  StopWaiting();
  return wish_.form == MintWish::Form::kInteger ? TakeRun(output) : TakeKeys(output);
}

void MintJob::StopWaiting() {
  if (const std::uint64_t waiter = std::exchange(waiter_, 0); waiter != 0) {
    keyspace_.Forget(waiter);
  }
}

MintJob::Wait MintJob::AwaitBlock() {
  if (backend_.clock().Monotonic() >= deadline_) {
    verdict_ = keyspace_.DeadlineVerdict();
    return Wait::kOver;
  }
  verdict_ = keyspace_.Verdict();
  if (!verdict_.ok()) return Wait::kOver;
  const bool in_a_row = wish_.form == MintWish::Form::kInteger && wish_.count > 1;
  const Result<std::uint64_t> waiter =
      in_a_row ? mint::AsPlainSequence(keyspace_)->AwaitRun(wish_.count, waker_)
               : keyspace_.Await(wish_.count - keys_, waker_);
  if (!waiter.ok()) {
    verdict_ = waiter.status();
    return Wait::kOver;
  }
  waiter_ = *waiter;
  return waiter_ == 0 ? Wait::kRetry : Wait::kParked;
}

Progress MintJob::TakeKeys(std::string& output) {
  const std::uint64_t before = keys_;
  while (keys_ < wish_.count) {
    const auto count = static_cast<std::uint32_t>(wish_.count - keys_);
    const std::uint32_t taken = AppendKeys(keyspace_, count, body_);
    keys_ += taken;
    if (taken > 0) continue;
    if (keys_ > before) return Progress::kFlush;  // Behind those who got nothing.
    const Wait wait = AwaitBlock();
    if (wait == Wait::kRetry) return Progress::kFlush;  // A blocklist may skip numbers for long.
    if (wait == Wait::kParked) return Progress::kParked;
    // What was taken is issued: better fewer keys than asked for than keys that are lost.
    if (keys_ > 0) break;
    return Fail(NoKeys(verdict_, keyspace_), output);
  }
  AnswerKeys(output);
  return Progress::kDone;
}

void MintJob::AnswerKeys(std::string& output) const {
  wire::RespWriter writer(output, version_);
  if (wish_.form == MintWish::Form::kArray) writer.Array(keys_);
  if (wish_.form == MintWish::Form::kSet) writer.Set(keys_);
  output += body_;
}

Progress MintJob::TakeRun(std::string& output) {
  mint::CounterKeyspace* const sequence = mint::AsPlainSequence(keyspace_);
  KEYMILL_CHECK(sequence != nullptr);
  for (;;) {
    const mint::Reservoir::Run run = wish_.count == 1
                                         ? sequence->Take(1, kIntegerLast)
                                         : sequence->TakeRun(wish_.count, kIntegerLast);
    if (run.count > 0) {
      wire::RespWriter(output, version_)
          .Integer(static_cast<std::int64_t>(run.first + run.count - 1));
      return Progress::kDone;
    }
    if (run.beyond) return Fail(Overflow(keyspace_.name()), output);
    const Wait wait = AwaitBlock();
    if (wait == Wait::kParked) return Progress::kParked;
    if (wait == Wait::kOver) return Fail(NoKeys(verdict_, keyspace_), output);
  }
}

Progress MintJob::Fail(std::string_view error, std::string& output) {
  failed_ = true;
  wire::RespWriter(output, version_).Error(error);
  return Progress::kDone;
}

}  // namespace keymill::api::resp
