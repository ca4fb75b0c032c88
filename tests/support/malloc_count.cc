// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Preloaded into a server, counts what its event loops take from the heap. The count lies in
// the file $MILL_MALLOC_COUNT, for others to read while the server runs. Threads that wait for
// the store may allocate as they like and are told by their names.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

std::atomic<std::uint64_t>* count = nullptr;

__attribute__((constructor)) void MapCount() {
  const char* const path = std::getenv("MILL_MALLOC_COUNT");
  if (path == nullptr) return;
  const int fd = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof *count) != 0) std::abort();
  void* const page = ::mmap(nullptr, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) std::abort();
  ::close(fd);
  count = new (page) std::atomic<std::uint64_t>(0);
}

void Count() {
  if (count == nullptr) return;
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  if (std::strcmp(name, "keymill-loop") == 0) count->fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  Count();
  return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) {
  Count();
  return __libc_calloc(number, size);
}

void* realloc(void* old, std::size_t size) {
  Count();
  return __libc_realloc(old, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  Count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  Count();
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? 12 : 0;
}

}  // extern "C"
