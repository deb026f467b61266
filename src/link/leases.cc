#include "link/leases.h"

#include <algorithm>

namespace stator::link {

void Lease::EndHere() {
  if (permit_ != nullptr) permit_->failed.store(true, std::memory_order_release);
  permit_ = nullptr;
}

void Lease::Extend(int64_t until) {
  const MutexLock lock(mutex_);
  until_ = std::max(until_, until);
}

void Lease::EndIfLate(int64_t now) {
  const MutexLock lock(mutex_);
  if (now > until_) EndHere();
}

kv::FatePtr Lease::Take(int64_t now) {
  const MutexLock lock(mutex_);
  if (over_) return nullptr;
  if (now > until_) {
    EndHere();
    return nullptr;
  }
  if (permit_ == nullptr) permit_ = kv::MakePermit();
  return permit_;
}

void Lease::End() {
  const MutexLock lock(mutex_);
  over_ = true;
  EndHere();
}

std::shared_ptr<Lease> Leases::Add() {
  auto lease = std::make_shared<Lease>();
  const MutexLock lock(mutex_);
  std::erase_if(leases_, [](const auto& each) { return each.expired(); });
  leases_.push_back(lease);
  return lease;
}

void Leases::EndLate() {
  const MutexLock lock(mutex_);
  if (leases_.empty()) return;
  const int64_t now = clock_.TicksMicros();
  for (const std::weak_ptr<Lease>& each : leases_) {
    if (const std::shared_ptr<Lease> lease = each.lock(); lease != nullptr) lease->EndIfLate(now);
  }
}

}  // namespace stator::link
