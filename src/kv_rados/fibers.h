// Fibers: threads of a simulation, all on one thread of the machine. For tests only.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/unique_function.h"
#include "kv_rados/cluster.h"
#include "kv_rados/host.h"

namespace stator::kv_rados {

// Runs fibers one at a time, as its caller says: a fiber keeps running until it waits or ends.
// Fibers belong to groups (processes), whose numbers the caller chooses.
class Fibers {
 public:
  explicit Fibers(const ManualClock& clock) : clock_(clock) {}
  ~Fibers();  // every fiber must have ended
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  void Start(int group, UniqueFunction<void()> body);
  // As those of Host. Wait is for fibers only.
  void Wait(const void* at, std::optional<int64_t> micros);
  void Notify(const void* at, bool all);
  bool InFiber() const { return current_ != nullptr; }

  // Appends the numbers of those that may run.
  void AppendReady(const std::vector<bool>& frozen_groups, std::vector<size_t>* ready) const;
  // Runs one until it waits or ends.
  void Run(size_t number);
  // When the next wait that has a limit ends, in ticks; INT64_MAX: there is none.
  int64_t NextTime(const std::vector<bool>& frozen_groups) const;
  // How many of a group have not ended.
  size_t Alive(int group) const;

 private:
  struct Fiber {
    int group = 0;
    UniqueFunction<void()> body;
    ucontext_t context = {};
    char* stack = nullptr;
    const void* at = nullptr;  // it waits there; null: it may run
    int64_t until = INT64_MAX;
    bool ended = false;
    Cluster::OfThread of_thread;
    void* sanitizers = nullptr;
  };
  static void Main();
  void SwitchTo(Fiber& fiber);
  void SwitchBack();

  const ManualClock& clock_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* current_ = nullptr;
  ucontext_t main_ = {};
  void* main_sanitizers_ = nullptr;
};

// The threads of one process.
class FiberHost final : public Host {
 public:
  FiberHost(Fibers& fibers, int group) : fibers_(fibers), group_(group) {}
  void Start(UniqueFunction<void()> body) override { fibers_.Start(group_, std::move(body)); }
  void Wait(const void* at, std::optional<int64_t> micros) override { fibers_.Wait(at, micros); }
  void Notify(const void* at, bool all) override { fibers_.Notify(at, all); }

 private:
  Fibers& fibers_;
  const int group_;
};

}  // namespace stator::kv_rados
