#include "server/object_store_settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "egress/url.h"
#include "s3/connect.h"

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
                  "--backup-dir, --store-backup), in place of the system's")
      ->envname("STATOR_S3_CA_FILE");
}

bool IsUrl(const std::string& place) { return place.find("://") != std::string::npos; }

bool ObjectStoreSettings::is_url() const { return IsUrl(place); }

namespace {

Result<std::shared_ptr<s3::Client>> Connect(egress::Url endpoint,
                                            const ObjectStoreSettings& settings,
                                            const Clock& clock) {
  ASSIGN_OR_RETURN(s3::Options options, s3::OptionsFor(std::move(endpoint), settings.ca_file));
  return std::make_shared<s3::Client>(std::move(options), clock);
}

}  // namespace

std::optional<std::string> CheckObjectStore(const ObjectStoreSettings& s,
                                            const BackupPlaces& backups) {
  if (IsUrl(backups.of_tables)) {
    const Result<s3::Place> place = s3::ParsePlace(backups.of_tables);
    if (!place.ok()) return "--backup-dir: " + place.error().message();
  }
  if (!s.ca_file.empty() && !s.place.starts_with("https://") &&
      !backups.of_tables.starts_with("https://") && !backups.of_store.starts_with("https://"))
    return "--s3-ca-file is for an --object-store, --backup-dir or --store-backup of https";
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
  ASSIGN_OR_RETURN(s3::Place place, s3::ParsePlace(url));
  ASSIGN_OR_RETURN(std::shared_ptr<s3::Client> client,
                   Connect(std::move(place.endpoint), settings, clock));
  return transfer::MakeS3Folders(std::move(client), std::move(place.bucket),
                                 std::move(place.prefix), clock);
}

}  // namespace stator::server
