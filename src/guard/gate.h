// Verifies who sends a request, and counts what is refused.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "access/policy.h"
#include "access/verifier.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/string_hash.h"

namespace stator::guard {

// The address of a client. The guard calls it only if a policy or a log needs the address.
class Peer {
 public:
  virtual ~Peer() = default;
  // Returns the address without a port: "192.0.2.1", "2001:db8::1"; empty if it is not known.
  virtual std::string Address() const = 0;
  // Whether the request came over TLS.
  virtual bool IsSecure() const { return false; }
};

// The policy of a resource: of a table or stream, or the trust policy of a role. A null policy that
// is present could not be read and denies everything.
struct AttachedPolicy {
  bool present = false;
  std::shared_ptr<const access::Policy> policy = nullptr;
};

// The policies of tables and streams. Thread-safe.
class ResourcePolicySource {
 public:
  virtual ~ResourcePolicySource() = default;
  // False while there is no policy at all.
  virtual bool any() const = 0;
  // Returns the policy of a table's UUID, of a stream's UUID "/" label.
  virtual AttachedPolicy FindAttached(std::string_view id) const = 0;
};

// Returns the key id that a signature in the header claims, for logs; empty if there is none.
std::string_view ClaimedKey(const access::HttpRequestView& request);

// kEnforce refuses unauthorized requests. kWarn evaluates all requests, counts and logs those that
// kEnforce would refuse, and serves them.
enum class Mode { kWarn, kEnforce };

// Thread-safe.
class Gate {
 public:
  struct Options {
    Mode mode = Mode::kEnforce;
    std::string account;
    std::string region;
    std::string dummy_secret;                         // any random text
    const ResourcePolicySource* resources = nullptr;  // null: there are none
    // Returns OK while this process's copy of the access keys is up to date with the other
    // processes. Otherwise signed requests are refused with its error. Null: no other process
    // changes the keys.
    std::function<Status()> fresh = nullptr;
  };
  struct Counts {
    uint64_t signatures = 0;  // requests whose signature did not verify
    uint64_t denials = 0;     // requests that no policy allowed, or that one denied
  };

  // `clock` dates signatures; it and `keys` must outlive the gate.
  Gate(const Clock& clock, const access::KeySource& keys, Options options)
      : clock_(clock),
        options_(std::move(options)),
        verifier_(clock, keys, options_.dummy_secret) {}

  bool enforces() const { return options_.mode == Mode::kEnforce; }
  const std::string& account() const { return options_.account; }
  const std::string& region() const { return options_.region; }
  const ResourcePolicySource* resources() const { return options_.resources; }

  // Returns the key that signed a request for `service` in this server's Region; with `any_region`,
  // in any. With kWarn a request that does not verify has a result without credential. Errors are
  // those of access::Verifier::Verify, and of Options::fresh.
  Result<access::VerifiedRequest> Verify(const access::HttpRequestView& request,
                                         std::string_view service, bool any_region = false);

  // Counts and logs that a request is not allowed. Returns the error with kEnforce, OK with kWarn.
  Status Deny(std::string_view key_id, std::string_view operation, std::string message);

  Counts counts() const {
    return {signatures_.load(std::memory_order_relaxed), denials_.load(std::memory_order_relaxed)};
  }

 private:
  // True at most once a second for each key, and for a bounded number of keys.
  bool MayLog(std::string_view key_id);

  const Clock& clock_;
  const Options options_;
  access::Verifier verifier_;
  std::atomic<uint64_t> signatures_{0};
  std::atomic<uint64_t> denials_{0};
  Mutex mutex_;
  int64_t logged_second_ GUARDED_BY(mutex_) = 0;
  std::unordered_set<std::string, StringHash, std::equal_to<>> logged_ GUARDED_BY(mutex_);
};

}  // namespace stator::guard
