// The settings of whole-store backups (store_backup/keeper.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "store_backup/place.h"

namespace CLI {
class App;
}

namespace stator::server {

struct StoreBackupSettings {
  std::string place;         // a directory, or https://HOST/BUCKET[/PREFIX]; empty: no backups
  int64_t every_micros = 0;  // 0: on demand only
  uint64_t keep = 0;         // 0: all
  int64_t rate_mb = 100;     // a second; 0: no bound
};

// Adds --store-backup and the options that begin so.
void AddStoreBackupOptions(CLI::App* app, StoreBackupSettings* settings);

// Returns a sentence about what does not fit together. `serve` knows which options were given.
std::optional<std::string> CheckStoreBackup(const CLI::App& serve,
                                            const StoreBackupSettings& settings,
                                            const std::string& data_dir);

// Opens a place; calls nothing. `clock` is the machine's and must outlive the place. `ca_file`:
// authorities of https in place of the system's. kValidation, with a sentence, for a text that
// names none, and for a bucket without an access key.
Result<std::unique_ptr<store_backup::Place>> OpenStoreBackupPlace(const std::string& place,
                                                                  const std::string& ca_file,
                                                                  const Clock& clock);

}  // namespace stator::server
