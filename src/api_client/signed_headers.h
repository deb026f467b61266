// The headers of a request that is signed.
#pragma once

#include <cstdint>
#include <string_view>

#include "access/sigv4.h"
#include "egress/client.h"
#include "egress/url.h"

namespace stator::api_client {

// The signer, the service and the time of a signature.
struct Signature {
  const access::SigningKey& key;
  std::string_view region;
  std::string_view service;  // such as "dynamodb"
  int64_t now_micros = 0;
  // For S3: the path as it is, and a header with the digest of the body.
  access::PathStyle path = access::PathStyle::kNormalized;
  bool add_content_sha256 = false;
};

// Returns `headers` and those of the signature, for egress::Client::Call. The Host of `to` is
// signed too; it is not among them, because the client adds it itself.
egress::Headers SignedHeaders(const Signature& signature, const egress::Url& to,
                              std::string_view method, std::string_view target,
                              std::string_view body, const egress::Headers& headers);

}  // namespace stator::api_client
