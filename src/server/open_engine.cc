#include "server/open_engine.h"

#include <filesystem>
#include <utility>

#include "kv/memory_engine.h"
#include "kv_rados/rados_engine.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_tx/transaction_engine.h"
#include "table/key_encoding.h"

namespace stator::server {
namespace {

// Room for a start with small logs, and for many deletes.
constexpr uint64_t kBallastBytes = 16 << 20;

}  // namespace

Result<std::unique_ptr<kv::Engine>> OpenEngine(const ServeSettings& settings,
                                               std::shared_ptr<const crypt::FileKeys> keys) {
  if (settings.engine == EngineKind::kMemory)
    return std::unique_ptr<kv::Engine>(std::make_unique<kv::MemoryEngine>());
  if (settings.engine == EngineKind::kRados) {
    kv_rados::RadosOptions options;
    options.ceph_conf = settings.ceph_conf;
    options.pool = settings.pool;
    options.user = settings.ceph_user;
    options.name_space = settings.ceph_namespace;
    options.split_bytes = settings.ceph_split_bytes;
    options.split_keys = settings.ceph_split_keys;
    options.recent_micros = settings.eventual_staleness_micros;
    ASSIGN_OR_RETURN(std::unique_ptr<kv::Engine> engine, kv_rados::OpenRados(options));
    return std::unique_ptr<kv::Engine>(
        std::make_unique<kv_tx::TransactionEngine>(std::move(engine)));
  }
  kv_rocks::RocksOptions options;
  options.path = settings.data_dir;
  options.memory_budget_bytes = settings.memory_budget_mb << 20;
  options.sync = settings.durability == Durability::kFsync;
  options.accept_lost_writes = settings.accept_lost_writes;
  options.ballast_bytes = kBallastBytes;
  options.items_prefix_bytes = table::kPartitionPrefixBytes;
  options.keys = std::move(keys);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(settings.data_dir).lexically_normal(),
                                      error);
  if (error)
    return Error(ErrorCode::kUnavailable,
                 "cannot create the data directory " + settings.data_dir + ": " + error.message());
  return kv_rocks::OpenRocks(options);
}

std::string PlaceOf(const ServeSettings& settings) {
  if (settings.engine == EngineKind::kMemory) return "-";
  if (settings.engine == EngineKind::kRocksDb) return settings.data_dir;
  return settings.ceph_namespace.empty()
             ? "pool " + settings.pool
             : "pool " + settings.pool + ", namespace " + settings.ceph_namespace;
}

std::string StoreNameOf(const ServeSettings& settings) {
  if (settings.engine == EngineKind::kMemory) return "";
  if (settings.engine == EngineKind::kRados) {
    return settings.ceph_namespace.empty() ? settings.pool
                                           : settings.pool + "/" + settings.ceph_namespace;
  }
  std::error_code error;
  std::filesystem::path path =
      std::filesystem::absolute(settings.data_dir, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // data/
  return path.has_filename() ? path.filename().string() : path.string();
}

}  // namespace stator::server
