#include "server/object_store_settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "api_client/credentials.h"
#include "base/log.h"
#include "egress/client.h"
#include "egress/url.h"
#include "s3/client.h"

namespace stator::server {

void AddObjectStoreOptions(CLI::App* app, ObjectStoreSettings* s) {
  app->add_option("--object-store", s->place,
                  "where the buckets of exports and imports are: a directory with a folder for "
                  "each, or the URL of an S3 endpoint; DATA_DIR-objects if absent, memory with "
                  "--in-memory")
      ->envname("STATOR_OBJECT_STORE");
  app->add_option("--object-store-buckets", s->buckets,
                  "with a URL: the buckets that callers may name; *: all that the server's key "
                  "reaches")
      ->delimiter(',')
      ->envname("STATOR_OBJECT_STORE_BUCKETS");
  app->add_option("--object-store-ca-file", s->ca_file,
                  "with https: the authorities that may sign its certificate, in place of the "
                  "system's")
      ->envname("STATOR_OBJECT_STORE_CA_FILE");
}

std::optional<std::string> CheckObjectStore(const ObjectStoreSettings& s) {
  if (!s.is_url()) {
    if (!s.buckets.empty() || !s.ca_file.empty())
      return "--object-store-buckets and --object-store-ca-file are for an --object-store that is "
             "a URL";
    return std::nullopt;
  }
  const Result<egress::Url> url = egress::ParseUrl(s.place);
  if (!url.ok()) return "--object-store: " + url.error().message();
  if (url->target != "/")
    return fmt::format(
        "--object-store {} has a path: give the endpoint alone, and the buckets as "
        "--object-store-buckets",
        s.place);
  if (s.buckets.empty())
    return "--object-store=URL needs --object-store-buckets: the buckets that callers may name, or "
           "* for all that the server's key reaches";
  if (!s.ca_file.empty() && !url->tls) return "--object-store-ca-file is for https";
  for (const std::string& bucket : s.buckets) {
    if (bucket == "*") continue;
    if (const Status name = exchange::CheckBucketName(bucket); !name.ok())
      return fmt::format("--object-store-buckets: {}", name.error().message());
  }
  return std::nullopt;
}

Result<std::unique_ptr<exchange::ObjectStore>> OpenS3(const ObjectStoreSettings& s,
                                                      const Clock& clock) {
  s3::Options options;
  ASSIGN_OR_RETURN(options.endpoint, egress::ParseUrl(s.place));
  if (options.endpoint.tls) {
    ASSIGN_OR_RETURN(options.trust, egress::TlsTrust::Load(s.ca_file));
  }
  ASSIGN_OR_RETURN(api_client::Credentials found,
                   api_client::FindCredentials(api_client::ProcessEnvironment()));
  if (found.is_made_up) {
    return ValidationError(
        "the object store needs an access key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
        "AWS_SHARED_CREDENTIALS_FILE");
  }
  options.key = std::move(found.key);
  options.region = std::move(found.region);
  auto client = std::make_shared<s3::Client>(std::move(options), clock);
  LogInfo("object_store", {{"place", client->place()}, {"key_from", found.source}});
  return exchange::MakeS3Objects(std::move(client), s.buckets);
}

}  // namespace stator::server
