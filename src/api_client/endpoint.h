// Where requests go, and with which key.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "access/sigv4.h"
#include "api_client/credentials.h"
#include "base/result.h"
#include "egress/client.h"
#include "egress/url.h"

namespace stator::api_client {

struct Endpoint {
  egress::Url url;
  access::SigningKey key;
  std::string region = "us-east-1";
  std::shared_ptr<const egress::TlsTrust> trust;  // null without TLS
};

// The options of a command; empty texts are not given.
struct EndpointOptions {
  std::string url;      // or "aws": the service itself, in the Region
  std::string region;   // else that of the credentials
  std::string ca_file;  // authorities of TLS; else the system's
};

// Returns `given`, or the text of AWS_ENDPOINT_URL_DYNAMODB, of AWS_ENDPOINT_URL, else
// http://127.0.0.1:8000.
std::string EndpointText(const std::string& given, const Variables& variables);
// Returns the URL in `text`. kValidation, with a sentence for people, if it is none or has a path.
Result<egress::Url> ParseEndpoint(std::string_view text);
// Finds endpoint, Region and access key. Without a URL in `options` it uses that of
// AWS_ENDPOINT_URL_DYNAMODB, of AWS_ENDPOINT_URL, or http://127.0.0.1:8000. kValidation with a
// sentence for people. Reads files.
Result<Endpoint> FindEndpoint(const EndpointOptions& options, const Variables& variables);

// Returns the endpoint of DynamoDB Streams beside one of DynamoDB: the service has a host of its
// own for it, other servers answer at the same URL.
Endpoint StreamsOf(const Endpoint& endpoint);

}  // namespace stator::api_client
