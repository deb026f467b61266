#include "base/memory_account.h"

#include <algorithm>

namespace stator {

bool MemoryHolder::Refuse(int64_t bytes) {
  account_.held_.fetch_sub(bytes, std::memory_order_relaxed);
  account_.NoteRefusal();
  return false;
}

// Threads of one holder that pass the bound of small meet under the mutex, so Move sees every pass.
bool MemoryHolder::AddSmall(int64_t bytes) {
  int64_t before = bytes_.load(std::memory_order_relaxed);
  do {
    if (std::max(before, before + bytes) > MemoryAccount::kSmallBytes) return false;
  } while (!bytes_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  return true;
}

bool MemoryHolder::TryAdd(int64_t bytes, bool of_body) {
  if (bytes <= 0) {
    Add(bytes);
    return true;
  }
  const int64_t held = account_.held_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (this->bytes() + bytes <= MemoryAccount::kSmallBytes && held > account_.limit_) {
    // The oldest body may take more than there is, and what it takes is no small holder's loss.
    MutexLock lock(account_.mutex_);
    if (held - account_.large_bytes_ > account_.limit_ - account_.common_) return Refuse(bytes);
  }
  if (AddSmall(bytes)) return true;
  MutexLock lock(account_.mutex_);
  const int64_t mine = this->bytes() + bytes;
  const bool oldest = of_body && body_ != 0 && *account_.bodies_.begin() == body_;
  if (!oldest) {
    if (held > account_.common_) return Refuse(bytes);
    if (held > account_.limit_ / 2) {
      const auto client = account_.clients_.find(address_);
      const bool counted = this->bytes() > MemoryAccount::kSmallBytes;
      const int64_t holders = account_.large_ + (counted ? 0 : 1);
      const int64_t clients = static_cast<int64_t>(account_.clients_.size()) +
                              (client == account_.clients_.end() ? 1 : 0);
      const int64_t of_client = client == account_.clients_.end() ? 0 : client->second.bytes;
      if (mine > account_.common_ / holders ||
          of_client + (counted ? bytes : mine) > account_.common_ / clients)
        return Refuse(bytes);
    }
  }
  const int64_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
  Move(before, before + bytes);
  return true;
}

void MemoryHolder::Add(int64_t bytes) {
  if (bytes == 0) return;
  account_.held_.fetch_add(bytes, std::memory_order_relaxed);
  if (AddSmall(bytes)) return;
  MutexLock lock(account_.mutex_);
  const int64_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
  Move(before, before + bytes);
}

bool MemoryHolder::account_full(int64_t bytes) const {
  const int64_t held = account_.held() - bytes;
  if (held < account_.limit()) return false;
  if (this->bytes() > MemoryAccount::kSmallBytes) return true;
  MutexLock lock(account_.mutex_);
  return held - account_.large_bytes_ > account_.limit_ - account_.common_;
}

void MemoryHolder::Move(int64_t before, int64_t after) {
  const bool was = before > MemoryAccount::kSmallBytes;
  const bool is = after > MemoryAccount::kSmallBytes;
  if (!was && !is) return;
  MemoryAccount::Client& client = account_.clients_[address_];
  const int64_t more = (is ? after : 0) - (was ? before : 0);
  client.bytes += more;
  account_.large_bytes_ += more;
  client.large += (is ? 1 : 0) - (was ? 1 : 0);
  account_.large_ += (is ? 1 : 0) - (was ? 1 : 0);
  if (client.large == 0) account_.clients_.erase(address_);
}

void MemoryHolder::BeginBody() {
  if (body_ != 0) return;
  MutexLock lock(account_.mutex_);
  body_ = account_.next_body_++;
  account_.bodies_.insert(body_);
}

void MemoryHolder::EndBody() {
  if (body_ == 0) return;
  MutexLock lock(account_.mutex_);
  account_.bodies_.erase(body_);
  body_ = 0;
}

Error MemoryRefusal() {
  return Error(ErrorCode::kUnavailable,
               "The server holds as much for requests as --max-inflight-mb allows, try again",
               std::make_shared<OverloadPayload>());
}

}  // namespace stator
