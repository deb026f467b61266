#include "server/store_backup_control.h"

#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/time_text.h"

namespace stator::server {
namespace {

using store_backup::Keeper;
using store_backup::Summary;

void Write(const Summary& summary, JsonWriter* json) {
  json->Open('{').Field("id", summary.id).Field("as_of", FormatTime(summary.as_of_micros));
  json->Field("until", FormatTime(summary.until_micros));
  json->Key("files").Whole(static_cast<int64_t>(summary.files));
  json->Key("bytes").Whole(static_cast<int64_t>(summary.bytes));
  json->Key("new_files").Whole(static_cast<int64_t>(summary.new_files));
  json->Key("new_bytes").Whole(static_cast<int64_t>(summary.new_bytes));
  if (!summary.key_id.empty()) json->Field("encryption_key", summary.key_id);
  json->Close('}');
}

void WriteTime(std::string_view name, std::optional<int64_t> micros, JsonWriter* json) {
  json->Key(name);
  if (micros) {
    json->Text(FormatTime(*micros));
  } else {
    json->Null();
  }
}

}  // namespace

std::string WhyNoStoreBackups(EngineKind engine) {
  switch (engine) {
    case EngineKind::kMemory:
      return "A store in memory has no files to back up: its backups of tables are another matter "
             "(docs/backup.md)";
    case EngineKind::kRados:
      return "A pool of a Ceph cluster has no state of one moment over several objects that a "
             "server could copy: take a snapshot of the pool (docs/cluster.md)";
    case EngineKind::kRocksDb: break;
  }
  return "This server has no place for backups of its store: start it with --store-backup=PLACE";
}

std::string RenderSummary(const Summary& summary) {
  JsonWriter json;
  Write(summary, &json);
  return json.Take();
}

std::string RenderStoreBackup(const Keeper& keeper) {
  const Keeper::View view = keeper.view();
  JsonWriter json;
  json.Open('{').Field("place", keeper.options().place->name());
  json.Key("every_seconds").Number(static_cast<double>(keeper.options().every_micros) / 1e6);
  json.Key("keep").Whole(static_cast<int64_t>(keeper.options().keep));
  json.Key("running").Bool(view.running);
  json.Key("done_bytes").Whole(static_cast<int64_t>(view.done_bytes));
  json.Key("total_bytes").Whole(static_cast<int64_t>(view.total_bytes));
  json.Key("made").Whole(static_cast<int64_t>(view.made));
  json.Key("failed").Whole(static_cast<int64_t>(view.failed));
  json.Key("last");
  if (view.last) {
    Write(*view.last, &json);
  } else {
    json.Null();
  }
  json.Key("last_seconds").Number(view.last_seconds);
  json.Key("failure");
  if (view.failure) {
    json.Open('{').Field("at", FormatTime(view.failure_micros));
    json.Field("message", *view.failure).Close('}');
  } else {
    json.Null();
  }
  WriteTime("next", view.next_micros, &json);
  return json.Close('}').Take();
}

Result<std::string> RenderStoreBackups(Keeper& keeper) {
  std::vector<std::string> damaged;
  ASSIGN_OR_RETURN(const std::vector<Summary> list, keeper.List(&damaged));
  JsonWriter json;
  json.Open('{').Key("backups").Open('[');
  for (const Summary& each : list) Write(each, &json);
  json.Close(']').Key("damaged").Open('[');
  for (const std::string& each : damaged) json.Text(each);
  return json.Close(']').Close('}').Take();
}

void AddStoreBackupGauges(const Keeper& keeper, std::map<std::string, double>* gauges) {
  const Keeper::View view = keeper.view();
  const auto set = [gauges](const char* name, double value) { (*gauges)[name] = value; };
  set("stator_store_backups_made", static_cast<double>(view.made));
  set("stator_store_backups_failed", static_cast<double>(view.failed));
  set("stator_store_backup_running", view.running ? 1 : 0);
  set("stator_store_backup_failing", view.failure ? 1 : 0);
  if (!view.last) return;
  set("stator_store_backup_last_seconds", static_cast<double>(view.last->as_of_micros) / 1e6);
  set("stator_store_backup_last_bytes", static_cast<double>(view.last->bytes));
  set("stator_store_backup_last_new_bytes", static_cast<double>(view.last->new_bytes));
}

}  // namespace stator::server
