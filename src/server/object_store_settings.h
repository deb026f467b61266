// The settings of what is kept in S3: exports and imports, and backups of tables.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "exchange/object_store.h"
#include "transfer/folders.h"

namespace CLI {
class App;
}

namespace stator::server {

struct ObjectStoreSettings {
  std::string place;                 // a directory or a URL; empty: next to the data, or in memory
  std::vector<std::string> buckets;  // with a URL: what callers may name; "*": all
  std::string ca_file;  // with https, of backups too: authorities in place of the system's

  bool is_url() const;
};

// Adds --object-store, --object-store-buckets and --s3-ca-file.
void AddObjectStoreOptions(CLI::App* app, ObjectStoreSettings* settings);

// Where the backups of tables and of the whole store are; empty: they are elsewhere, or not made.
struct BackupPlaces {
  std::string of_tables;  // --backup-dir
  std::string of_store;   // --store-backup
};
// Returns a sentence about what does not fit together.
std::optional<std::string> CheckObjectStore(const ObjectStoreSettings& settings,
                                            const BackupPlaces& backups);

// Opens the store of a URL; reads the access key and the Region as SDKs do (api_client). Calls
// nothing. `clock` is the machine's, since S3 refuses requests of other times; it must outlive the
// store. kValidation, with a sentence, if there is no key or no authorities.
Result<std::unique_ptr<exchange::ObjectStore>> OpenS3(const ObjectStoreSettings& settings,
                                                      const Clock& clock);

// Returns true if the value of --backup-dir is the URL of a bucket: https://HOST/BUCKET[/PREFIX].
bool IsUrl(const std::string& place);
// Opens the folders of such a URL, as OpenS3 does.
Result<std::unique_ptr<transfer::Folders>> OpenS3Folders(const std::string& url,
                                                         const ObjectStoreSettings& settings,
                                                         const Clock& clock);

}  // namespace stator::server
