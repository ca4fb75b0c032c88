// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/resp/session.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "api/resp/errors.h"

namespace keymill::api::resp {
namespace {

// Once this much output has piled up it has to leave before anything else is read.
constexpr std::size_t kOutputHigh = 256 * 1024;

// Commands that are answered with one step of the reservoir.
constexpr std::uint32_t kRepeatsMax = 64;

// A command that is longer is not compared with the next one.
constexpr std::size_t kRepeatSizeMax = 256;

std::uint64_t Nanoseconds(MonotonicTime::duration time) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  return ns < 0 ? 0 : static_cast<std::uint64_t>(ns);
}

// A page in a browser can make it send requests here, and would then have commands run that stand
// in their bodies. Neither begins a command of ours.
bool LooksLikeHttp(std::span<const std::string_view> words) {
  static constexpr std::array<std::string_view, 7> kVerbs = {"GET",     "HEAD",    "PUT",  "DELETE",
                                                             "OPTIONS", "CONNECT", "PATCH"};
  const auto same = [&](std::string_view word) { return SameWord(words.front(), word); };
  if (same("POST") || same("Host:")) return true;
  return words.size() == 3 && words[2].starts_with("HTTP/") &&
         std::any_of(kVerbs.begin(), kVerbs.end(), same);
}

}  // namespace

RespSession::RespSession(RespService& service, net::Waker waker)
    : service_(service),
      waker_(std::move(waker)),
      counters_(service.metrics().Mine()),
      id_(service.NewClient()) {}

RespSession::~RespSession() {
  if (errand_) errand_->deferred->abandoned.store(true, std::memory_order_relaxed);
  service_.ClientGone();
}

net::Step RespSession::Advance(std::string_view input, std::string& output) {
  const bool known = round() != MonotonicTime();
  const MonotonicTime began = known ? round() : service_.clock().Monotonic();
  const bool resumed = busy();
  answered_ = 0;
  const net::Step step = Work(input, output);
  const bool still_busy = resumed && answered_ == 0;
  if (answered_ > 0) {
    // One look at the clock for all of them: their answers leave together.
    const MonotonicTime now = service_.clock().Monotonic();
    if (resumed) {
      counters_.times.Record(Nanoseconds(now - began_), 1);
      --answered_;
    }
    if (answered_ > 0) counters_.times.Record(Nanoseconds(now - began), answered_);
  }
  if (!still_busy) began_ = began;  // For one that was begun just now.
  return step;
}

net::Step RespSession::Work(std::string_view input, std::string& output) {
  using Outcome = wire::RespCommandReader::Outcome;
  if (busy()) {
    const bool parked = std::exchange(parked_, false);
    const Progress progress = Resume(output);
    if (progress != Progress::kDone) return StepFor(progress, 0);
    // Others were woken by the same block: first they, then what is behind this command.
    if (parked && !closing_ && !input.empty()) return {.consumed = 0, .want = net::Want::kFlush};
  }
  std::size_t consumed = 0;
  bool between_seen =
      !reader_.in_command();  // Whether what is begun in the end began in this call.
  while (!closing_ && consumed < input.size() && output.size() < kOutputHigh) {
    std::string_view rest = input.substr(consumed);
    if (const std::size_t repeated = AnswerRepeats(rest, output); repeated > 0) {
      consumed += repeated;
      continue;
    }
    const std::string_view before = rest;
    const bool fresh = !reader_.in_command();
    const Outcome outcome = reader_.Read(rest);
    consumed = input.size() - rest.size();
    if (outcome == Outcome::kNeedMore) break;
    between_seen = true;
    if (outcome == Outcome::kMalformed) {
      command_ = nullptr;
      closing_ = true;
      Count(Error(fmt::format("ERR {}", reader_.detail()), output));
      break;
    }
    const std::string_view bytes = before.substr(0, before.size() - rest.size());
    const Progress progress = Begin(reader_.words(), fresh ? bytes : std::string_view(), output);
    if (progress != Progress::kDone) return StepFor(progress, consumed);
  }
  // While draining, what the client has sent is still answered, and nothing behind it.
  const bool between = !reader_.in_command() && !collecting_;
  if (draining_ && consumed == input.size() && between && answered_ > 0) closing_ = true;
  if (closing_) return {.consumed = input.size(), .want = net::Want::kClose};
  const bool more = consumed < input.size();
  return {.consumed = consumed,
          .want = more ? net::Want::kFlush : net::Want::kInput,
          .in_request = reader_.in_command(),
          .new_request = between_seen,
          .holding = !queue_.empty()};
}

net::Step RespSession::StepFor(Progress progress, std::size_t consumed) {
  net::Step step{.consumed = consumed, .want = net::Want::kFlush};
  if (progress == Progress::kParked) {
    parked_ = true;
    step.want = net::Want::kWake;
    step.wake_at = errand_ ? errand_->deadline : job_->deadline();
  }
  return step;
}

std::size_t RespSession::AnswerRepeats(std::string_view input, std::string& output) {
  if (repeat_.keyspace == nullptr || collecting_ || reader_.in_command()) return 0;
  const std::string_view pattern = repeat_.bytes;
  std::uint32_t repeats = 0;
  while (repeats < kRepeatsMax && input.substr(repeats * pattern.size()).starts_with(pattern)) {
    ++repeats;
  }
  if (repeats == 0) return 0;
  const std::uint32_t answered = repeat_.sequence != nullptr
                                     ? AppendNumbers(*repeat_.sequence, repeats, output)
                                     : AppendKeys(*repeat_.keyspace, repeats, output);
  if (answered > 0) {
    counters_.commands[static_cast<std::size_t>(repeat_.command->verb)].answered.Add(answered);
    answered_ += answered;
  }
  return answered * pattern.size();
}

void RespSession::OnTimeout(std::string& output) {
  command_ = nullptr;
  Count(Error("ERR Protocol error: the command did not arrive in time", output));
}

Progress RespSession::Begin(Words words, std::string_view bytes, std::string& output) {
  repeat_.keyspace = nullptr;
  if (LooksLikeHttp(words)) {
    closing_ = true;
    return Progress::kDone;
  }
  const Command* const command = FindCommand(words.front());
  command_ = command;
  if (command == nullptr || !command->TakesWords(words.size())) {
    spoilt_ = true;
    return Count(
        Error(command == nullptr ? UnknownCommand(words) : WrongArity(command->name), output));
  }
  if (collecting_) {
    switch (command->verb) {
      case Verb::kExec:
      case Verb::kDiscard:
      case Verb::kMulti:
      case Verb::kWatch:
      case Verb::kQuit:
      case Verb::kReset:
        break;
      default:
        return Queue(*command, words, output);
    }
  }
  const Progress progress = Run(*command, words, output);
  if (running_) return RunQueued(output);
  // BeginMint has said whether this can be repeated.
  if (repeat_.keyspace != nullptr) {
    repeat_.command = command;
    if (bytes.empty() || bytes.size() > kRepeatSizeMax) {
      repeat_.keyspace = nullptr;
    } else {
      repeat_.bytes.assign(bytes);
    }
  }
  return progress;
}

Progress RespSession::Run(const Command& command, Words words, std::string& output) {
  command_ = &command;
  failed_ = false;
  return Count(Dispatch(command, words, output));
}

Progress RespSession::Count(Progress progress) {
  if (progress != Progress::kDone) return progress;
  const std::size_t place =
      command_ == nullptr ? kVerbCount : static_cast<std::size_t>(command_->verb);
  RespCounters::Pair& pair = counters_.commands[place];
  (failed_ ? pair.refused : pair.answered).Add(1);
  failed_ = false;
  ++answered_;
  return progress;
}

Progress RespSession::Ok(std::string& output) {
  output += "+OK\r\n";
  return Progress::kDone;
}

Progress RespSession::Error(std::string_view error, std::string& output) {
  failed_ = true;
  Writer(output).Error(error);
  return Progress::kDone;
}

Progress RespSession::Resume(std::string& output) {
  if (errand_ || job_) {
    const Progress progress = Count(errand_ ? ResumeErrand(output) : ContinueJob(output));
    if (progress != Progress::kDone) return progress;
  }
  return running_ ? RunQueued(output) : Progress::kDone;
}

Progress RespSession::ResumeErrand(std::string& output) {
  if (!errand_->deferred->done.load(std::memory_order_acquire)) {
    if (service_.clock().Monotonic() < errand_->deadline) return Progress::kParked;
    errand_->deferred->abandoned.store(true, std::memory_order_relaxed);
    errand_.reset();
    return Error(ErrorOf({Code::kDeadlineExceeded, "the store did not answer in time"}), output);
  }
  const Errand errand = *std::exchange(errand_, std::nullopt);
  if (errand.deferred->keyspace != nullptr) {
    return RunJob(*errand.deferred->keyspace, errand.wish, errand.deadline, output);
  }
  failed_ = errand.deferred->failed;
  output += errand.deferred->reply;
  return Progress::kDone;
}

Progress RespSession::ContinueJob(std::string& output) {
  const Progress progress = job_->Continue(output);
  if (progress == Progress::kDone) {
    failed_ = job_->failed();
    job_.reset();
  }
  return progress;
}

Progress RespSession::Multi(std::string& output) {
  if (collecting_) return Error("ERR MULTI calls can not be nested", output);
  collecting_ = true;
  spoilt_ = false;
  return Ok(output);
}

Progress RespSession::Queue(const Command& command, Words words, std::string& output) {
  std::size_t bytes = 0;
  for (const std::string_view word : words) bytes += word.size() + sizeof(std::string);
  if (queue_.size() >= kQueuedMax || queue_bytes_ + bytes > kQueuedBytesMax) {
    spoilt_ = true;
    return Count(
        Error(fmt::format("ERR too many commands between MULTI and EXEC; at most {}", kQueuedMax),
              output));
  }
  queue_bytes_ += bytes;
  queue_.push_back({&command, std::vector<std::string>(words.begin(), words.end())});
  output += "+QUEUED\r\n";
  return Progress::kDone;
}

Progress RespSession::Exec(std::string& output) {
  if (!collecting_) return Error("ERR EXEC without MULTI", output);
  if (spoilt_) {
    DropQueue();
    return Error("EXECABORT Transaction discarded because of previous errors.", output);
  }
  collecting_ = false;
  running_ = true;
  next_ = 0;
  Writer(output).Array(queue_.size());
  return Progress::kDone;
}

Progress RespSession::Discard(std::string& output) {
  if (!collecting_) return Error("ERR DISCARD without MULTI", output);
  DropQueue();
  return Ok(output);
}

void RespSession::DropQueue() {
  collecting_ = false;
  spoilt_ = false;
  running_ = false;
  queue_ = {};
  queue_bytes_ = 0;
}

Progress RespSession::RunQueued(std::string& output) {
  while (next_ < queue_.size()) {
    if (output.size() >= kOutputHigh) return Progress::kFlush;
    const Queued& queued = queue_[next_++];
    const std::vector<std::string_view> words(queued.words.begin(), queued.words.end());
    const Progress progress = Run(*queued.command, words, output);
    repeat_.keyspace = nullptr;  // Nothing was read that could be compared with what comes next.
    if (progress != Progress::kDone) return progress;
  }
  DropQueue();
  return Progress::kDone;
}

Progress RespSession::Dispatch(const Command& command, Words words, std::string& output) {
  switch (command.verb) {
    case Verb::kKeymillMint:
      return Mint(words, output);
    case Verb::kSpop:
      return Pop(words, MintWish::Form::kSet, output);
    case Verb::kLpop:
      return Pop(words, MintWish::Form::kArray, output);
    case Verb::kIncr:
      return BeginMint(words[1], {MintWish::Form::kInteger, 1}, output);
    case Verb::kIncrBy:
      return IncrBy(words, output);
    case Verb::kKeymillExplain:
      return Explain(words, output);
    case Verb::kKeymillClaim:
      return Claim(words, output);
    case Verb::kKeymillDerive:
      return Derive(words, output);
    case Verb::kKeymillList:
      return List(output);
    default:
      return DispatchOther(command, words, output);
  }
}

Progress RespSession::DispatchOther(const Command& command, Words words, std::string& output) {
  switch (command.verb) {
    case Verb::kHello:
      return Hello(words, output);
    case Verb::kAuth:
      return Auth(words, output);
    case Verb::kClient:
      return Client(words, output);
    case Verb::kCommand:
      return TellCommands(words, output);
    case Verb::kConfig:
      return Config(words, output);
    case Verb::kInfo:
      return Info(words, output);
    case Verb::kPing:
      return Ping(words, output);
    case Verb::kEcho:
      Writer(output).Bulk(words[1]);
      return Progress::kDone;
    case Verb::kSelect:
      return Select(words[1], output);
    case Verb::kTime:
      return Time(output);
    case Verb::kDbSize: {
      const mint::Engine* const mill = service_.engine();
      Writer(output).Integer(mill == nullptr ? 0 : static_cast<std::int64_t>(mill->Known().size()));
      return Progress::kDone;
    }
    case Verb::kQuit:
      closing_ = true;
      return Ok(output);
    case Verb::kReset:
      return Reset(output);
    case Verb::kMulti:
      return Multi(output);
    case Verb::kExec:
      return Exec(output);
    case Verb::kDiscard:
      return Discard(output);
    case Verb::kWatch:
      if (collecting_) return Error("ERR WATCH inside MULTI is not allowed", output);
      return Ok(output);
    case Verb::kUnwatch:
      return Ok(output);
    case Verb::kCluster:
      return Error("ERR This instance has cluster support disabled", output);
    case Verb::kMonitor:
      return Error("ERR MONITOR is not supported here", output);
    default:
      break;
  }
  return Error("ERR there are no channels here: this server only hands out keys", output);
}

}  // namespace keymill::api::resp
