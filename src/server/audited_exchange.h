// A management call whose outcome goes into the audit log.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "audit/trail.h"
#include "http/server.h"

namespace stator::server {

// Hands the record of a call over when the call is answered; the answer to a change waits until the
// record is on the disk. Reads have a record only where the trail wants the data plane, or where
// they were refused.
class AuditedExchange final : public http::Exchange {
 public:
  // `action` is a literal such as "stator:PutFaults". The trail outlives the exchange.
  AuditedExchange(audit::Trail& trail, std::unique_ptr<http::Exchange> exchange,
                  std::string_view action, bool change);
  // Without an answer the client gets a 500.
  ~AuditedExchange() override;

  audit::Record& record() { return record_; }
  // OK if the call may go on: a change needs a slot of the trail.
  Status Permit();

  const http::Request& request() const override { return exchange_->request(); }
  std::string PeerAddress() const override { return exchange_->PeerAddress(); }
  Executor& loop() override { return exchange_->loop(); }
  bool HasLeft() const override { return exchange_->HasLeft(); }
  void Send(http::Reply reply) override;
  MemoryLease& memory() override { return exchange_->memory(); }

 private:
  // `written` as of Trail::WriteChange, for a change only.
  void Finish(int status, UniqueFunction<void()> written);

  audit::Trail& trail_;
  const std::shared_ptr<http::Exchange> exchange_;
  const std::string_view action_;
  const bool change_;
  bool finished_ = false;
  std::optional<audit::Trail::Slot> slot_;
  audit::Record record_;
};

}  // namespace stator::server
