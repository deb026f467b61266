// For tests: a table "tab" with items, in memory or on RocksDB, and folders for its backups.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "expr/test_notation.h"
#include "kv_rocks/temporary_directory.h"
#include "table/test_world.h"
#include "transfer/backups.h"

namespace stator::transfer {

// "tab" has the key pk, S, and sk, N.
class Place {
 public:
  explicit Place(bool rocks) : world_(rocks) {
    table::TableDescriptor d;
    d.name = "tab";
    d.table_id = "12345678-1234-4234-8234-123456789012";
    d.attribute_definitions = {{"pk", model::Type::kS}, {"sk", model::Type::kN}};
    d.key_schema.partition = {"pk", model::Type::kS};
    d.key_schema.sort = model::KeyAttribute{"sk", model::Type::kN};
    EXPECT_TRUE(world_.Create(std::move(d)).ok());
  }

  static std::string ItemOf(int number, std::string_view text = "") {
    return expr::notation::Item(fmt::format("{{pk:'p{}' sk:{} v:'{}'}}", number % 7, number, text));
  }
  void Put(int number, std::string_view text = "") {
    EXPECT_TRUE(world_.Write(ItemOf(number, text), false).ok());
  }
  void Delete(int number) { EXPECT_TRUE(world_.Write(ItemOf(number), true).ok()); }
  table::TablePtr table() { return world_.store->Find("tab"); }
  std::map<std::string, std::string> Items() {
    return world_.ScanAll(table()->descriptor.tablet(), table::kItemKind);
  }
  table::test::World& world() { return world_; }

  std::unique_ptr<Folders> InDirectory(uint64_t least_free_bytes = 0) const {
    return MakeDirectoryFolders(backup_dir(), least_free_bytes);
  }
  std::string backup_dir() const { return directory_.path() + "/backups"; }

  // Opens the backups in the given folders; small blocks and files, so that few items fill some.
  std::unique_ptr<Backups> Open(std::unique_ptr<Folders> folders,
                                std::vector<std::string>* told = nullptr,
                                size_t most_manifest_bytes = 24 << 20) {
    BackupOptions options;
    options.most_manifest_bytes = most_manifest_bytes;
    options.folders = std::move(folders);
    options.limits = {.block_bytes = 400, .file_bytes = 3000};
    if (told != nullptr) {
      options.tell = [told](std::string_view kind, const std::string&, const std::string& text) {
        told->push_back(std::string(kind) + ": " + text);
      };
    }
    Result<std::unique_ptr<Backups>> backups =
        Backups::Open(*world_.store, world_.clock, random_, std::move(options));
    EXPECT_TRUE(backups.ok()) << backups.error().message();
    return std::move(*backups);
  }

 private:
  table::test::World world_;
  SeededRandom random_{1};
  const kv_rocks::TemporaryDirectory directory_;
};

// Waits until the backup is whole or gone, and returns it.
inline BackupPtr Settled(const Backups& backups, const std::string& id) {
  for (;;) {
    BackupPtr backup = backups.Find(id);
    if (backup == nullptr || backup->state == Backup::State::kAvailable) return backup;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// The items in a backup's files, by key.
inline Result<std::map<std::string, std::string>> ItemsOf(Folders& folders,
                                                          const Manifest& manifest) {
  std::map<std::string, std::string> items;
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    TRY(ReadDataFile(folders, manifest, i, [&](std::string_view item) {
      items.emplace(table::EncodeItemKey(manifest.table.key_schema, model::ItemView(item)), item);
      return OkStatus();
    }));
  }
  return items;
}

}  // namespace stator::transfer
