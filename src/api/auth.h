// Checks the form of signatures: Signature Version 4, in the header and in the query string.
#pragma once

#include <string>
#include <string_view>

#include "access/sigv4.h"
#include "base/result.h"

namespace stator::api {

// The parts of a request that belong to its signature, as sent. Absent headers are empty views.
struct AuthRequest {
  std::string_view authorization;
  std::string_view x_amz_date;
  std::string_view date;
  std::string_view query;  // what follows '?' in the target
};

// The seam for verification and policies. Thread-safe.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // Returns OK if the request may go on, otherwise the error for the client. Called for every
  // request, before the body is decoded.
  virtual Status Authenticate(const AuthRequest& request) const = 0;
};

// Checks the shape of a signature, in the service's order and with its texts (wire-protocol.md,
// "Authentication checks" 1-7). It verifies no signature, accepts any access key, region and
// service, and does not mind old dates. Allocates only for errors and for percent-encoded query
// parameters.
class ShapeAuthenticator final : public Authenticator {
 public:
  // With require_auth off, requests without an AWS signature pass; a malformed one is still
  // refused.
  explicit ShapeAuthenticator(bool require_auth = true) : require_auth_(require_auth) {}
  Status Authenticate(const AuthRequest& request) const override;

 private:
  const bool require_auth_;
};

// Returns the key id that a signature claims, in the header or in the query; empty if there is no
// signature. Of a request that ShapeAuthenticator accepts.
std::string ClaimedKeyId(const AuthRequest& request);
// Returns the key id of a request to any API of this port.
std::string ClaimedKeyId(const access::HttpRequestView& http);

// Checks the signature of a request to another API of this port as ShapeAuthenticator does.
Status CheckShape(const access::HttpRequestView& http, bool require_auth);

}  // namespace stator::api
