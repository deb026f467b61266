#include "guard/gate.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/log.h"

namespace stator::guard {
namespace {

constexpr size_t kMaxLoggedKeys = 64;  // a second
constexpr size_t kMaxShownKey = 128;

}  // namespace

std::string_view ClaimedKey(const access::HttpRequestView& request) {
  constexpr std::string_view kCredential = "Credential=";
  for (const access::HeaderLine& line : request.headers) {
    if (!EqualsIgnoringCase(line.name, "authorization")) continue;
    const size_t begin = line.value.find(kCredential);
    if (begin == std::string_view::npos) return {};
    const std::string_view rest = line.value.substr(begin + kCredential.size());
    return rest.substr(0, std::min(rest.find_first_of("/, "), kMaxShownKey));
  }
  return {};
}

Result<access::VerifiedRequest> Gate::Verify(const access::HttpRequestView& request,
                                             std::string_view service, bool any_region) {
  if (options_.fresh != nullptr) {
    const Status fresh = options_.fresh();
    if (!fresh.ok() && enforces()) return fresh.error();
  }
  const std::array<std::string_view, 1> own = {options_.region};
  access::ExpectedScope scope;
  scope.service = service;
  if (!any_region) scope.regions = own;
  Result<access::VerifiedRequest> verified = verifier_.Verify(request, scope);
  if (verified.ok()) return verified;
  signatures_.fetch_add(1, std::memory_order_relaxed);
  const std::string_view key_id = ClaimedKey(request);
  if (MayLog(key_id)) {
    LogWarn(enforces() ? "signature_refused" : "signature_not_verified",
            {{"key", key_id}, {"error", verified.error().message()}});
  }
  if (enforces()) return verified;
  return access::VerifiedRequest{};
}

Status Gate::Deny(std::string_view key_id, std::string_view operation, std::string message) {
  denials_.fetch_add(1, std::memory_order_relaxed);
  if (MayLog(key_id)) {
    LogWarn(enforces() ? "access_denied" : "access_not_allowed",
            {{"key", key_id}, {"operation", operation}, {"message", message}});
  }
  if (!enforces()) return OkStatus();
  return Error(ErrorCode::kAccessDenied, std::move(message));
}

bool Gate::MayLog(std::string_view key_id) {
  const int64_t second = clock_.TicksMicros() / 1'000'000;
  const MutexLock lock(mutex_);
  if (second != logged_second_) {
    logged_second_ = second;
    logged_.clear();
  }
  if (logged_.contains(key_id) || logged_.size() >= kMaxLoggedKeys) return false;
  logged_.emplace(key_id);
  return true;
}

}  // namespace stator::guard
