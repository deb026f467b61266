#include "server/audited_exchange.h"

#include <fmt/format.h>

#include <utility>

#include "base/executor.h"

namespace stator::server {
namespace {

constexpr size_t kMostAgent = 512;
constexpr std::string_view kMetrics = "stator:GetMetrics";

}  // namespace

AuditedExchange::AuditedExchange(audit::Trail& trail, std::unique_ptr<http::Exchange> exchange,
                                 std::string_view action, bool change)
    : trail_(trail), exchange_(std::move(exchange)), action_(action), change_(change) {
  record_.at_micros = trail_.clock().NowMicros();
  record_.source = audit::kStator;
  record_.name = action_.substr(action_.find(':') + 1);
  record_.read_only = !change_;
  record_.address = exchange_->PeerAddress();
  record_.user_agent = exchange_->request().header("User-Agent").substr(0, kMostAgent);
}

AuditedExchange::~AuditedExchange() {
  if (!finished_) Finish(500, nullptr);
}

Status AuditedExchange::Permit() {
  if (!change_) return OkStatus();
  Result<audit::Trail::Slot> slot = trail_.Reserve();
  if (!slot.ok()) return slot.error();
  slot_.emplace(*std::move(slot));
  return OkStatus();
}

void AuditedExchange::Send(http::Reply reply) {
  const int status = reply.status;
  if (!slot_) {
    Finish(status, nullptr);
    exchange_->Send(std::move(reply));
    return;
  }
  Executor& loop = exchange_->loop();
  auto shared = std::make_shared<http::Reply>(std::move(reply));
  Finish(status, [exchange = exchange_, shared = std::move(shared), &loop]() mutable {
    // Nothing of the exchange stays on this thread: it must end in its loop's turn.
    PostAndStandIn(loop, [exchange = std::move(exchange), shared = std::move(shared)]() mutable {
      exchange->Send(std::move(*shared));
      exchange.reset();
    });
  });
}

void AuditedExchange::Finish(int status, UniqueFunction<void()> written) {
  finished_ = true;
  if (record_.error_code.empty() && status >= 400)
    record_.error_code = fmt::format("HTTP {}", status);
  if (slot_) {
    trail_.WriteChange(*std::exchange(slot_, std::nullopt), std::move(record_), std::move(written));
    return;
  }
  const bool refused = status == 403;
  if (refused || change_ || (trail_.data_plane() && action_ != kMetrics))
    trail_.Write(std::move(record_));
}

}  // namespace stator::server
