// The management calls on whole-store backups, and their metrics.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "server/settings.h"
#include "store_backup/keeper.h"

namespace stator::server {

// Why a server without a Keeper makes no backups of its store.
std::string WhyNoStoreBackups(EngineKind engine);

// GET /_stator/backup: the settings, the one that is being made, the last one, the last failure.
std::string RenderStoreBackup(const store_backup::Keeper& keeper);
// GET /_stator/backup/list. Blocks.
Result<std::string> RenderStoreBackups(store_backup::Keeper& keeper);
// {"id", "as_of", ...}
std::string RenderSummary(const store_backup::Summary& summary);

void AddStoreBackupGauges(const store_backup::Keeper& keeper,
                          std::map<std::string, double>* gauges);

}  // namespace stator::server
