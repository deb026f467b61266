// The account of memory that clients make the server hold: bodies, inflated and decoded requests,
// pages, replies that wait for their reader. docs/adr/0016-memory-account.md has the rules.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <set>

#include "base/error.h"
#include "base/mutex.h"

namespace stator {

// The address of a client: IPv4 mapped into IPv6; of an IPv6 address its first 64 bits, which one
// client may have all to itself.
using ClientAddress = std::array<uint8_t, 16>;

class MemoryHolder;

// Thread-safe. Outlives its holders.
class MemoryAccount {
 public:
  // A holder with no more than this is small: it may use the lane, and shares do not bind it.
  static constexpr int64_t kSmallBytes = 64 << 10;

  // `limit`: bytes in all; an eighth of them is the lane, which only small holders may use.
  explicit MemoryAccount(int64_t limit) : limit_(limit), common_(limit - limit / 8) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  int64_t limit() const { return limit_; }
  int64_t held() const { return held_.load(std::memory_order_relaxed); }
  // More than half of the limit is held: shares count, and slow clients are closed early.
  bool pressed() const { return held() > limit_ / 2; }
  // Nothing more is to begin.
  bool full() const { return held() >= limit_; }
  // Refusals since the start.
  int64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

  // Counts memory that belongs to no holder, such as pooled buffers. Negative bytes: it was freed.
  void Count(int64_t bytes) { held_.fetch_add(bytes, std::memory_order_relaxed); }
  // Counts a request that was refused because the account was full().
  void NoteRefusal() { refusals_.fetch_add(1, std::memory_order_relaxed); }

 private:
  friend class MemoryHolder;
  struct Client {
    int64_t bytes = 0;  // of its large holders
    int large = 0;      // holders above kSmallBytes
  };

  const int64_t limit_;
  const int64_t common_;  // the limit without the lane
  std::atomic<int64_t> held_{0};
  std::atomic<int64_t> refusals_{0};
  Mutex mutex_;
  std::map<ClientAddress, Client> clients_ GUARDED_BY(mutex_);  // those with large holders
  int large_ GUARDED_BY(mutex_) = 0;                            // holders above kSmallBytes
  int64_t large_bytes_ GUARDED_BY(mutex_) = 0;                  // of them
  std::set<uint64_t> bodies_ GUARDED_BY(mutex_);                // numbers of bodies that have begun
  uint64_t next_body_ GUARDED_BY(mutex_) = 1;
};

// Counts the bytes that one connection holds. Thread-safe, for a request's pages grow on worker
// threads. Up to MemoryAccount::kSmallBytes it costs one atomic addition a call; beyond, a mutex.
class MemoryHolder {
 public:
  MemoryHolder(MemoryAccount& account, const ClientAddress& address)
      : account_(account), address_(address) {}
  ~MemoryHolder() {
    EndBody();
    Sub(bytes());
  }
  MemoryHolder(const MemoryHolder&) = delete;
  MemoryHolder& operator=(const MemoryHolder&) = delete;

  // Adds `bytes` and returns true if the account has room for them. A small holder may fill the
  // account, and small holders together have the lane whatever large ones hold; those may fill all
  // but the lane. While the account is pressed, a large holder may have its
  // share: the account without the lane, divided by the large holders, and likewise by the
  // addresses that have any. The holder of the oldest body is never refused bytes of that body.
  bool TryAdd(int64_t bytes, bool of_body = false);
  // Adds bytes that exist already, whatever the account says.
  void Add(int64_t bytes);
  void Sub(int64_t bytes) {
    if (bytes != 0) Add(-bytes);
  }
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // Whether the account, or for a small holder the lane as well, would be full without `bytes` of
  // this holder.
  bool account_full(int64_t bytes) const;

  // Between these calls the holder reads, and decodes, a body that makes it large.
  void BeginBody();
  void EndBody();

 private:
  bool Refuse(int64_t bytes);
  // Adds (or takes) bytes without the mutex if the holder is small before and after.
  bool AddSmall(int64_t bytes);
  // Updates the account's sums of large holders when this holder's bytes change from `before` to
  // `after`.
  void Move(int64_t before, int64_t after) REQUIRES(account_.mutex_);

  MemoryAccount& account_;
  const ClientAddress address_;
  std::atomic<int64_t> bytes_{0};
  uint64_t body_ = 0;  // 0: none. Changes only while no request is in hand.
};

// Bytes of a holder that are given back together: those of one request.
class MemoryLease {
 public:
  explicit MemoryLease(MemoryHolder& holder) : holder_(holder) {}
  ~MemoryLease() { Release(); }
  MemoryLease(const MemoryLease&) = delete;
  MemoryLease& operator=(const MemoryLease&) = delete;

  // False: refused, and nothing was added.
  bool TryGrow(int64_t bytes, bool of_body = false) {
    if (!holder_.TryAdd(bytes, of_body)) return false;
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    return true;
  }
  // Gives back `bytes` of them.
  void Shrink(int64_t bytes) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    holder_.Sub(bytes);
  }
  void Release() {
    if (bytes() != 0) holder_.Sub(bytes_.exchange(0, std::memory_order_relaxed));
  }
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // The account without what this lease holds is full.
  bool account_full() const { return holder_.account_full(bytes()); }

 private:
  MemoryHolder& holder_;
  std::atomic<int64_t> bytes_{0};
};

// Payload of the kUnavailable with which a request is refused for want of memory: a client gets 503
// and tries again.
struct OverloadPayload final : ErrorPayload {};
Error MemoryRefusal();
inline bool IsOverload(const Error& error) {
  return error.code() == ErrorCode::kUnavailable &&
         dynamic_cast<const OverloadPayload*>(error.payload().get()) != nullptr;
}

}  // namespace stator
