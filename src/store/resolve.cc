// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/resolve.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include "base/fork.h"
#include "base/mutex.h"

namespace keymill::store {
namespace {

using Answer = Result<std::vector<HostAddress>>;
// A child has its parent's questions, but not the threads that ask them.
using Question = std::pair<std::uint64_t, std::string>;  // Fork generation, host.

// What is being asked. Never destroyed, like the threads that look names up.
struct Questions {
  Mutex mu;
  std::map<Question, std::shared_future<Answer>> asked KEYMILL_GUARDED_BY(mu);
};

Questions& AllQuestions() {
  static auto* const questions = new Questions;
  return *questions;
}

Status Unresolved(const std::string& host, std::string_view why) {
  return {Code::kUnavailable, fmt::format("look up {}: {}", host, why)};
}

Answer Ask(const std::string& host, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* raw = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &raw);
  if (code != 0) return Unresolved(host, ::gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(raw, ::freeaddrinfo);
  std::vector<HostAddress> addresses;
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0) {
      continue;
    }
    const auto same = [&](const HostAddress& other) { return other.text == text.data(); };
    if (std::any_of(addresses.begin(), addresses.end(), same)) continue;
    HostAddress& address = addresses.emplace_back();
    address.text = text.data();
    address.size = one->ai_addrlen;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
  }
  if (addresses.empty()) return Unresolved(host, "it has no address");
  return addresses;
}

// Asks by the deadline, together with whoever asks the same already.
Answer AskInThread(const std::string& host, const Clock& clock, MonotonicTime deadline) {
  Questions& questions = AllQuestions();
  const Question question(ForkGeneration(), host);
  std::shared_future<Answer> answer;
  {
    const ForkHold no_child_inherits_the_lock;
    const MutexLock lock(questions.mu);
    std::shared_future<Answer>& asked = questions.asked[question];
    if (!asked.valid()) {
      std::promise<Answer> promise;
      asked = promise.get_future().share();
      try {
        // Not waited for: nobody can end a question to a name server.
        std::thread([host, promise = std::move(promise)]() mutable {
          promise.set_value(Ask(host, 0));
        }).detach();
      } catch (const std::system_error& error) {
        questions.asked.erase(question);
        return Unresolved(host, error.what());
      }
    }
    answer = asked;
  }
  const auto left = std::max(deadline - clock.Monotonic(), MonotonicTime::duration::zero());
  if (answer.wait_for(left) != std::future_status::ready) {
    return Unresolved(host, "no answer by the deadline");
  }
  const ForkHold no_child_inherits_the_lock;
  const MutexLock lock(questions.mu);
  questions.asked.erase(question);  // Addresses change: the next connection asks anew.
  return answer.get();
}

void SetPort(HostAddress& address, std::uint16_t port) {
  if (address.storage.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = htons(port);
  } else if (address.storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = htons(port);
  }
}

}  // namespace

Answer ResolveHost(const std::string& host, std::uint16_t port, const Clock& clock,
                   MonotonicTime deadline) {
  // An address needs nobody to look it up.
  Answer found = Ask(host, AI_NUMERICHOST);
  if (!found.ok()) found = AskInThread(host, clock, deadline);
  if (!found.ok()) return found;
  for (HostAddress& address : *found) SetPort(address, port);
  return found;
}

}  // namespace keymill::store
