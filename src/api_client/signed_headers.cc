#include "api_client/signed_headers.h"

#include <utility>
#include <vector>

namespace stator::api_client {

egress::Headers SignedHeaders(const Signature& signature, const egress::Url& to,
                              std::string_view method, std::string_view target,
                              std::string_view body, const egress::Headers& headers) {
  std::vector<access::OwnedHeader> all = {{"Host", to.authority()}};
  for (const auto& [name, value] : headers) all.push_back({name, value});
  access::SigningOptions options;
  options.region = signature.region;
  options.service = signature.service;
  options.now_micros = signature.now_micros;
  options.path = signature.path;
  options.add_content_sha256 = signature.add_content_sha256;
  access::SignRequest(signature.key, options, method, target, body, &all);
  egress::Headers sent;
  for (access::OwnedHeader& header : all) {
    if (header.name != "Host") sent.emplace_back(std::move(header.name), std::move(header.value));
  }
  return sent;
}

}  // namespace stator::api_client
