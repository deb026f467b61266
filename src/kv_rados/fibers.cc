#include "kv_rados/fibers.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace stator::kv_rados {
namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kGuardBytes = 64 << 10;  // below a stack, where nothing can be written

thread_local Fibers* running = nullptr;

// Stacks of fibers that have ended; the next ones take them.
struct Stacks {
  ~Stacks() {
    for (char* stack : free) ::munmap(stack - kGuardBytes, kGuardBytes + kStackBytes);
  }
  char* Take() {
    if (!free.empty()) {
      char* stack = free.back();
      free.pop_back();
      return stack;
    }
    void* memory = ::mmap(nullptr, kGuardBytes + kStackBytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    char* const stack = static_cast<char*>(memory) + kGuardBytes;
    if (::mprotect(stack, kStackBytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    return stack;
  }
  std::vector<char*> free;
};
thread_local Stacks stacks;

}  // namespace

Fibers::~Fibers() {
  for (const auto& fiber : fibers_) {
    if (fiber->ended) continue;
    std::fprintf(stderr, "A fiber of group %d has not ended.\n", fiber->group);
    std::abort();
  }
}

void Fibers::Start(int group, UniqueFunction<void()> body) {
  auto fiber = std::make_unique<Fiber>();
  fiber->group = group;
  fiber->body = std::move(body);
  fiber->stack = stacks.Take();
  ::getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack;
  fiber->context.uc_stack.ss_size = kStackBytes;
  fiber->context.uc_link = nullptr;
  ::makecontext(&fiber->context, &Fibers::Main, 0);
#if defined(__SANITIZE_THREAD__)
  fiber->sanitizers = __tsan_create_fiber(0);
#endif
  fibers_.push_back(std::move(fiber));
}

void Fibers::Main() {
  Fibers& fibers = *running;
  Fiber& fiber = *fibers.current_;
  fiber.body();
  fiber.body = nullptr;
  fiber.ended = true;
  fibers.SwitchBack();
}

void Fibers::SwitchTo(Fiber& fiber) {
  current_ = &fiber;
  running = this;
  std::swap(Cluster::ThisThread(), fiber.of_thread);
#if defined(__SANITIZE_THREAD__)
  main_sanitizers_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber.sanitizers, 0);
#endif
  ::swapcontext(&main_, &fiber.context);
  std::swap(Cluster::ThisThread(), fiber.of_thread);
  current_ = nullptr;
}

void Fibers::SwitchBack() {
  Fiber& fiber = *current_;
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(main_sanitizers_, 0);
#endif
  ::swapcontext(&fiber.context, &main_);
}

void Fibers::Run(size_t number) {
  Fiber& fiber = *fibers_[number];
  fiber.at = nullptr;
  fiber.until = INT64_MAX;
  SwitchTo(fiber);
  if (!fiber.ended) return;
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(fiber.sanitizers);
#endif
  stacks.free.push_back(std::exchange(fiber.stack, nullptr));
  // It may have started others: the numbers count from the beginning.
  std::erase_if(fibers_, [](const auto& each) { return each->ended; });
}

void Fibers::Wait(const void* at, std::optional<int64_t> micros) {
  if (current_ == nullptr || Cluster::InCallback()) {
    std::fprintf(stderr, "Only a fiber can wait, and no callback of the cluster.\n");
    std::abort();
  }
  current_->at = at;
  current_->until = micros ? clock_.TicksMicros() + *micros : INT64_MAX;
  SwitchBack();
}

void Fibers::Notify(const void* at, bool all) {
  for (const auto& fiber : fibers_) {
    if (fiber->at != at || fiber.get() == current_) continue;
    fiber->at = nullptr;
    if (!all) return;
  }
}

void Fibers::AppendReady(const std::vector<bool>& frozen_groups, std::vector<size_t>* ready) const {
  const int64_t now = clock_.TicksMicros();
  for (size_t i = 0; i < fibers_.size(); ++i) {
    const Fiber& fiber = *fibers_[i];
    if (frozen_groups[static_cast<size_t>(fiber.group)]) continue;
    if (fiber.at == nullptr || fiber.until <= now) ready->push_back(i);
  }
}

int64_t Fibers::NextTime(const std::vector<bool>& frozen_groups) const {
  int64_t next = INT64_MAX;
  for (const auto& fiber : fibers_) {
    if (frozen_groups[static_cast<size_t>(fiber->group)]) continue;
    next = std::min(next, fiber->until);
  }
  return next;
}

size_t Fibers::Alive(int group) const {
  size_t alive = 0;
  for (const auto& fiber : fibers_) alive += fiber->group == group ? 1 : 0;
  return alive;
}

}  // namespace stator::kv_rados
