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
  app->add_option("--s3-ca-file", s->ca_file,
                  "authorities that may sign the certificate of an S3 endpoint (--object-store, "
                  "--backup-dir), in place of the system's")
      ->envname("STATOR_S3_CA_FILE");
}

bool IsUrl(const std::string& place) { return place.find("://") != std::string::npos; }

bool ObjectStoreSettings::is_url() const { return IsUrl(place); }

namespace {

struct BackupPlace {
  egress::Url endpoint;
  std::string bucket;
  std::string prefix;
};
Result<BackupPlace> ParseBackupPlace(const std::string& text) {
  BackupPlace place;
  ASSIGN_OR_RETURN(place.endpoint, egress::ParseUrl(text));
  const std::string path = std::exchange(place.endpoint.target, "/").substr(1);
  const size_t slash = std::min(path.find('/'), path.size());
  place.bucket = path.substr(0, slash);
  place.prefix = path.substr(std::min(slash + 1, path.size()));
  const bool is_plain = place.prefix.find_first_of("?%") == std::string::npos;
  if (exchange::CheckBucketName(place.bucket).ok() && is_plain) return place;
  return ValidationError(
      fmt::format("{} names no bucket: give https://HOST/BUCKET or https://HOST/BUCKET/PREFIX, "
                  "without ? and %",
                  text));
}

Result<std::shared_ptr<s3::Client>> Connect(egress::Url endpoint,
                                            const ObjectStoreSettings& settings,
                                            const Clock& clock) {
  s3::Options options;
  options.endpoint = std::move(endpoint);
  if (options.endpoint.tls) {
    ASSIGN_OR_RETURN(options.trust, egress::TlsTrust::Load(settings.ca_file));
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
  auto client = std::make_shared<s3::Client>(std::move(options), clock);
  LogInfo("s3", {{"place", client->place()}, {"key_from", found.source}});
  return client;
}

}  // namespace

std::optional<std::string> CheckObjectStore(const ObjectStoreSettings& s,
                                            const std::string& backup_dir) {
  if (IsUrl(backup_dir)) {
    const Result<BackupPlace> place = ParseBackupPlace(backup_dir);
    if (!place.ok()) return "--backup-dir: " + place.error().message();
  }
  if (!s.ca_file.empty() && !s.place.starts_with("https://") && !backup_dir.starts_with("https://"))
    return "--s3-ca-file is for an --object-store or --backup-dir of https";
  if (!s.is_url()) {
    if (s.buckets.empty()) return std::nullopt;
    return "--object-store-buckets is for an --object-store that is a URL";
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
  for (const std::string& bucket : s.buckets) {
    if (bucket == "*") continue;
    if (const Status name = exchange::CheckBucketName(bucket); !name.ok())
      return fmt::format("--object-store-buckets: {}", name.error().message());
  }
  return std::nullopt;
}

Result<std::unique_ptr<exchange::ObjectStore>> OpenS3(const ObjectStoreSettings& s,
                                                      const Clock& clock) {
  ASSIGN_OR_RETURN(egress::Url endpoint, egress::ParseUrl(s.place));
  ASSIGN_OR_RETURN(std::shared_ptr<s3::Client> client, Connect(std::move(endpoint), s, clock));
  return exchange::MakeS3Objects(std::move(client), s.buckets);
}

Result<std::unique_ptr<transfer::Folders>> OpenS3Folders(const std::string& url,
                                                         const ObjectStoreSettings& settings,
                                                         const Clock& clock) {
  ASSIGN_OR_RETURN(BackupPlace place, ParseBackupPlace(url));
  ASSIGN_OR_RETURN(std::shared_ptr<s3::Client> client,
                   Connect(std::move(place.endpoint), settings, clock));
  return transfer::MakeS3Folders(std::move(client), std::move(place.bucket),
                                 std::move(place.prefix), clock);
}

}  // namespace stator::server
