// Functions behind HTTP: Lambda's Invoke API, and plain web servers.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "egress/client.h"
#include "triggers/function.h"

namespace stator::triggers {

// Judges an answer to an event. `invoke`: of Lambda's Invoke API, where a status says whether the
// function ran, and the body what it returned.
Outcome Judge(const egress::Reply& reply, const Batch& batch, bool invoke);

// Returns the text that a webhook's receiver checks: the value of the header webhook-signature
// ("v1," and the base64 of the HMAC-SHA256 of "ID.SECONDS.BODY").
std::string WebhookSignature(std::string_view secret, std::string_view id, int64_t seconds,
                             const egress::Body& body);

class HttpFunction final : public Target {
 public:
  static Result<std::unique_ptr<HttpFunction>> Make(const FunctionSettings& function,
                                                    const Clock& clock, const Clock& dates,
                                                    Trusts* trusts);
  Outcome Deliver(const Batch& batch) override;
  Outcome Report(const Batch& batch, const std::string& head) override;
  void Cancel() override;

 private:
  HttpFunction(const FunctionSettings& function, egress::Url url, const Clock& clock,
               const Clock& dates, std::shared_ptr<const egress::TlsTrust> trust);
  Outcome Call(const Batch& batch, std::string_view kind, egress::Body* body);
  // Judges an answer once there is memory for what that takes.
  Outcome JudgeInTurn(const egress::Reply& reply, const Batch& batch, Account::Share* share);
  std::string TargetOf(const Batch& batch) const;

  const FunctionSettings function_;
  const egress::Url url_;
  const Clock& clock_;
  const Clock& dates_;
  egress::Client client_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace stator::triggers
