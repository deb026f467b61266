#include "s3/connect.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api_client/credentials.h"
#include "base/log.h"

namespace stator::s3 {
namespace {

constexpr size_t kMostName = 255;

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool IsBucketName(std::string_view name) {
  return !name.empty() && name.size() <= kMostName && IsLetterOrDigit(name.front()) &&
         IsLetterOrDigit(name.back()) && std::all_of(name.begin(), name.end(), [](char c) {
           return IsLetterOrDigit(c) || c == '.' || c == '-' || c == '_';
         });
}

Result<Place> ParsePlace(std::string_view text) {
  Place place;
  ASSIGN_OR_RETURN(place.endpoint, egress::ParseUrl(text));
  const std::string path = std::exchange(place.endpoint.target, "/").substr(1);
  const size_t slash = std::min(path.find('/'), path.size());
  place.bucket = path.substr(0, slash);
  place.prefix = path.substr(std::min(slash + 1, path.size()));
  if (!place.prefix.empty() && place.prefix.back() != '/') place.prefix.push_back('/');
  const bool is_plain = place.prefix.find_first_of("?%") == std::string::npos;
  if (IsBucketName(place.bucket) && is_plain) return place;
  return ValidationError(
      fmt::format("{} names no bucket: give https://HOST/BUCKET or https://HOST/BUCKET/PREFIX, "
                  "without ? and %",
                  text));
}

Result<Options> OptionsFor(egress::Url endpoint, const std::string& ca_file) {
  Options options;
  options.endpoint = std::move(endpoint);
  if (options.endpoint.tls) {
    ASSIGN_OR_RETURN(options.trust, egress::TlsTrust::Load(ca_file));
  }
  ASSIGN_OR_RETURN(api_client::Credentials found,
                   api_client::FindCredentials(api_client::ProcessEnvironment()));
  if (found.is_made_up) {
    return ValidationError(
        fmt::format("{} needs an access key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                    "AWS_SHARED_CREDENTIALS_FILE",
                    options.endpoint.origin()));
  }
  options.key = std::move(found.key);
  options.region = std::move(found.region);
  LogInfo("s3", {{"place", options.endpoint.origin()}, {"key_from", found.source}});
  return options;
}

}  // namespace stator::s3
