// Functions behind HTTP: Lambda's Invoke API, and plain web servers.
#pragma once

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
                             std::string_view body);

class HttpFunction final : public Target {
 public:
  static Result<std::unique_ptr<HttpFunction>> Make(const FunctionSettings& function,
                                                    const Clock& clock, const Clock& dates);
  Outcome Deliver(const Batch& batch) override;
  Outcome Report(const Batch& batch, const std::string& document) override;
  void Cancel() override { client_.Cancel(); }

 private:
  HttpFunction(const FunctionSettings& function, egress::Url url, const Clock& clock,
               const Clock& dates, std::shared_ptr<const egress::TlsTrust> trust);
  Outcome Call(const Batch& batch, std::string_view kind, const std::string& body);
  std::string TargetOf(const Batch& batch) const;

  const FunctionSettings function_;
  const egress::Url url_;
  const Clock& dates_;
  egress::Client client_;
};

}  // namespace stator::triggers
