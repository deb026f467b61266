#include "access/web_claims.h"

#include <utility>

namespace stator::access {
namespace {

std::string NameOf(std::string_view provider_arn, std::string_view claim) {
  constexpr std::string_view kKind = "oidc-provider/";
  const size_t begin = provider_arn.find(kKind);
  const std::string_view provider =
      begin == std::string_view::npos ? provider_arn : provider_arn.substr(begin + kKind.size());
  return std::string(provider).append(":").append(claim);
}

}  // namespace

WebClaims::WebClaims(std::string_view provider_arn, std::string subject, std::string audience,
                     std::vector<std::string> methods)
    : subject_(std::move(subject)),
      audience_(std::move(audience)),
      methods_(std::move(methods)),
      method_views_(methods_.begin(), methods_.end()),
      subject_name_(NameOf(provider_arn, "sub")),
      audience_name_(NameOf(provider_arn, "aud")),
      methods_name_(NameOf(provider_arn, "amr")) {}

void WebClaims::SetContext(RequestContext* context) const {
  context->Add(ContextKey::kOther, subject_name_, subject_);
  context->Add(ContextKey::kOther, audience_name_, audience_);
  if (!methods_.empty()) context->AddList(ContextKey::kOther, methods_name_, method_views_);
}

}  // namespace stator::access
