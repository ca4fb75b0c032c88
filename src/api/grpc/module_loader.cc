// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/grpc/module_loader.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/descriptor.h"

namespace keymill::api::grpc {
namespace {

Status Refuse(std::string message) { return {Code::kFailedPrecondition, std::move(message)}; }

bool IsV6(const std::string& address) { return address.find(':') != std::string::npos; }

// Why nobody can listen there: gRPC says so in its log only. 0 when it can be.
int BindError(const std::string& address, std::uint16_t port) {
  sockaddr_storage place{};
  socklen_t size = 0;
  if (IsV6(address)) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(place);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    if (::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) != 1) return EINVAL;
    size = sizeof(v6);
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(place);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    if (::inet_pton(AF_INET, address.c_str(), &v4.sin_addr) != 1) return EINVAL;
    size = sizeof(v4);
  }
  const Descriptor probe(::socket(place.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  if (probe.get() < 0) return errno;
  ::setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (::bind(probe.get(), reinterpret_cast<const sockaddr*>(&place), size) != 0) return errno;
  return ::listen(probe.get(), 1) == 0 ? 0 : errno;
}

}  // namespace

std::vector<std::string> ModulePaths() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const std::filesystem::path folder = program.parent_path();
  return {(folder / kModuleFile).string(),
          (folder / KEYMILL_MODULE_DIR / kModuleFile).lexically_normal().string()};
}

Result<Module> Module::Load(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (module == nullptr) return Refuse(fmt::format("load {}: {}", path, ::dlerror()));
    const auto build = reinterpret_cast<BuildFunction>(::dlsym(module, kBuildName));
    const auto start = reinterpret_cast<StartFunction>(::dlsym(module, kStartName));
    const std::string ours = fmt::format("keymill {}, interface {}", KEYMILL_VERSION, kInterface);
    const std::string theirs = build == nullptr ? "something else" : build();
    if (start == nullptr || theirs != ours) {
      return Refuse(fmt::format("{} is of {}, and this is {}; install both of one version", path,
                                theirs, ours));
    }
    return Module(start);
  }
  return Refuse(fmt::format("{} is not installed (it is looked for as {})", kModuleFile,
                            fmt::join(paths, " and ")));
}

Result<std::unique_ptr<Server>> Module::Start(const std::string& address, std::uint16_t port,
                                              Host& host) const {
  const std::string place =
      IsV6(address) ? fmt::format("[{}]:{}", address, port) : fmt::format("{}:{}", address, port);
  std::unique_ptr<Server> server(start_(place.c_str(), &host));
  if (server) return server;
  const int error = BindError(address, port);
  if (error == EADDRINUSE) {
    return Status(Code::kAlreadyExists,
                  fmt::format("listen on {}: port {} is in use by another process", place, port));
  }
  return Status(
      Code::kFailedPrecondition,
      error == 0 ? fmt::format("listen on {}: gRPC did not say why it cannot", place)
                 : fmt::format("listen on {}: {}", place, std::generic_category().message(error)));
}

}  // namespace keymill::api::grpc
