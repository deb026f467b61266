#include "api_client/endpoint.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

namespace stator::api_client {
namespace {

constexpr const char* kUsualEndpoint = "http://127.0.0.1:8000";
constexpr std::string_view kServiceHost = "dynamodb.";
constexpr std::string_view kServiceDomain = ".amazonaws.com";

}  // namespace

std::string EndpointText(const std::string& given, const Variables& variables) {
  if (!given.empty()) return given;
  for (const char* name : {"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"})
    if (const std::optional<std::string> url = variables(name)) return *url;
  return kUsualEndpoint;
}

Result<egress::Url> ParseEndpoint(std::string_view text) {
  ASSIGN_OR_RETURN(egress::Url url, egress::ParseUrl(text));
  if (url.target != "/")
    return ValidationError(fmt::format("\"{}\": an endpoint has no path", text));
  return url;
}

Result<Endpoint> FindEndpoint(const EndpointOptions& options, const Variables& variables) {
  Endpoint endpoint;
  ASSIGN_OR_RETURN(Credentials credentials, FindCredentials(variables));
  endpoint.region = options.region.empty() ? std::move(credentials.region) : options.region;
  endpoint.key = std::move(credentials.key);
  const std::string text = EndpointText(options.url, variables);
  const bool service = text == "aws";
  if (service && credentials.is_made_up)
    return ValidationError("DynamoDB needs an access key: set AWS_PROFILE, or AWS_ACCESS_KEY_ID");
  ASSIGN_OR_RETURN(
      endpoint.url,
      ParseEndpoint(service ? fmt::format("https://dynamodb.{}.amazonaws.com", endpoint.region)
                            : text));
  if (endpoint.url.tls) {
    ASSIGN_OR_RETURN(endpoint.trust, egress::TlsTrust::Load(options.ca_file));
  }
  return endpoint;
}

Endpoint StreamsOf(const Endpoint& endpoint) {
  Endpoint streams = endpoint;
  const std::string& host = endpoint.url.host;
  if (host.starts_with(kServiceHost) && host.find(kServiceDomain) != std::string::npos)
    streams.url.host = "streams." + host;
  return streams;
}

}  // namespace stator::api_client
