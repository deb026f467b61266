// The claims of an identity provider about a token's subject, as condition keys of policies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "access/context.h"

namespace stator::access {

// Immutable; neither copied nor moved, since contexts look at its texts.
class WebClaims {
 public:
  // `provider_arn` ends in "oidc-provider/HOST/PATH".
  WebClaims(std::string_view provider_arn, std::string subject, std::string audience,
            std::vector<std::string> methods);
  WebClaims(const WebClaims&) = delete;
  WebClaims& operator=(const WebClaims&) = delete;

  const std::string& subject() const { return subject_; }
  const std::string& audience() const { return audience_; }
  const std::vector<std::string>& methods() const { return methods_; }  // amr
  // Sets "HOST/PATH:sub", "HOST/PATH:aud" and, if the token had it, the list "HOST/PATH:amr".
  void SetContext(RequestContext* context) const;

 private:
  const std::string subject_;
  const std::string audience_;
  const std::vector<std::string> methods_;
  const std::vector<std::string_view> method_views_;
  const std::string subject_name_;
  const std::string audience_name_;
  const std::string methods_name_;
};

}  // namespace stator::access
