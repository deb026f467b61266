// The end of a connection that is asked. Pure; asker.h has the bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/crypto.h"
#include "base/clock.h"
#include "base/result.h"
#include "link/channel.h"
#include "link/leases.h"

namespace stator::link {

struct OwnerOptions {
  std::string id;      // of this process
  std::string secret;  // of the store
  // Requests that may be under way for one process. Those beyond are refused.
  size_t most_requests = 1024;
  size_t most_request_bytes = 1 << 20;
};

// Not thread-safe.
class Owner {
 public:
  struct Request {
    uint64_t number = 0;
    std::string bytes;
    kv::FatePtr permit;
  };

  Owner(const OwnerOptions& options, std::shared_ptr<Lease> lease, const Clock& clock,
        access::SecureRandom& random);
  ~Owner() { lease_->End(); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  // Takes received bytes, answers pings, refuses requests that came too late or beyond the limit,
  // and appends the others to *requests. An error: the connection is to be closed.
  Status Receive(std::string_view bytes, std::vector<Request>* requests);
  // Says goodbye and refuses all requests from now on.
  void BeginStop();
  void Reply(uint64_t number, bool refused, std::string_view answer);

  bool known() const { return last_heard_ != 0; }
  int64_t last_heard() const { return last_heard_; }  // ticks; 0: never
  const std::string& asker() const { return channel_.other().id; }
  size_t running() const { return running_; }
  std::string& output() { return channel_.output(); }

 private:
  void SendAnswer(uint64_t number, bool refused, std::string_view answer);

  const OwnerOptions options_;
  const std::shared_ptr<Lease> lease_;
  const Clock& clock_;
  Channel channel_;
  int64_t last_heard_ = 0;
  size_t running_ = 0;
  uint64_t last_number_ = 0;  // of the requests that have come
  bool stopping_ = false;
};

}  // namespace stator::link
