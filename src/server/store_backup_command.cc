#include "server/store_backup_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "api_client/endpoint.h"
#include "api_client/signed_headers.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/time_text.h"
#include "egress/client.h"
#include "server/command_exit.h"
#include "server/open_engine.h"
#include "server/settings.h"
#include "server/store_backup_control.h"
#include "server/store_backup_settings.h"
#include "server/version.h"
#include "simdjson.h"
#include "store_backup/keeper.h"
#include "store_backup/make.h"
#include "store_backup/restore.h"

namespace stator::server {
namespace {

using simdjson::dom::element;
using store_backup::Backup;
using store_backup::Place;
using store_backup::Summary;

constexpr auto kPoll = std::chrono::milliseconds(100);

std::string Megabytes(uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// --- Of a server ---------------------------------------------------------------------------------

class Server {
 public:
  static Result<std::unique_ptr<Server>> At(const StoreBackupCommand& command) {
    ASSIGN_OR_RETURN(
        api_client::Endpoint endpoint,
        api_client::FindEndpoint({command.endpoint_url, command.region, command.authorities_file},
                                 api_client::ProcessEnvironment()));
    return std::unique_ptr<Server>(new Server(std::move(endpoint)));
  }

  // Returns the answer, which `parser_` holds until the next call.
  Result<element> Ask(std::string_view method, const std::string& target) {
    const egress::Headers headers = api_client::SignedHeaders(
        {endpoint_.key, endpoint_.region, "stator", clock_.NowMicros()}, client_.server(), method,
        target, "", {{"Content-Type", "application/json"}, {"X-Stator-Management", "true"}});
    ASSIGN_OR_RETURN(egress::Reply reply, client_.Call(method, target, headers, ""));
    body_ = std::move(reply.body);
    element json;
    std::string_view message;
    const bool parsed = parser_.parse(body_).get(json) == simdjson::SUCCESS;
    if (reply.status < 300 && parsed) return json;
    if (!parsed || json["message"].get(message) != simdjson::SUCCESS) message = body_;
    return Error(ErrorCode::kUnavailable,
                 fmt::format("The server answered {}: {}", reply.status, message));
  }
  const std::string& body() const { return body_; }

 private:
  explicit Server(api_client::Endpoint endpoint)
      : endpoint_(std::move(endpoint)), client_(endpoint_.url, Limits(), endpoint_.trust, clock_) {}
  static egress::Limits Limits() {
    egress::Limits limits;
    limits.body_bytes = 64 << 20;
    return limits;
  }

  const SystemClock clock_;
  const api_client::Endpoint endpoint_;
  egress::Client client_;
  simdjson::dom::parser parser_;
  std::string body_;
};

std::string TextIn(element json, std::string_view name) {
  std::string_view text;
  return json[name].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

uint64_t WholeIn(element json, std::string_view name) {
  int64_t number = 0;
  return json[name].get(number) == simdjson::SUCCESS ? static_cast<uint64_t>(number) : 0;
}

void PrintLine(std::string_view id, std::string_view as_of, uint64_t bytes, uint64_t files,
               uint64_t new_bytes) {
  fmt::print("{}\n", Printable(fmt::format("{}  as of {}  {} in {} files, {} new", id, as_of,
                                           Megabytes(bytes), files, Megabytes(new_bytes))));
}

void PrintLine(element json) {
  PrintLine(TextIn(json, "id"), TextIn(json, "as_of"), WholeIn(json, "bytes"),
            WholeIn(json, "files"), WholeIn(json, "new_bytes"));
}

void PrintLine(const Summary& summary) {
  PrintLine(summary.id, FormatTime(summary.as_of_micros), summary.bytes, summary.files,
            summary.new_bytes);
}

int PrintDamaged(const std::vector<std::string>& damaged) {
  for (const std::string& each : damaged) fmt::print(stderr, "{}\n", PrintableLines(each));
  return damaged.empty() ? 0 : 1;
}

Result<int> AskForBackup(const StoreBackupCommand& command) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, Server::At(command));
  ASSIGN_OR_RETURN(element begun, server->Ask("POST", "/_stator/backup"));
  const uint64_t made = WholeIn(begun, "made");
  const uint64_t failed = WholeIn(begun, "failed");
  for (;; std::this_thread::sleep_for(kPoll)) {
    ASSIGN_OR_RETURN(const element state, server->Ask("GET", "/_stator/backup"));
    bool running = false;
    if (state["running"].get(running) == simdjson::SUCCESS && running) continue;
    element last, failure;
    const bool was_made = WholeIn(state, "made") > made;
    if (was_made && state["last"].get(last) == simdjson::SUCCESS) {
      if (command.json) {
        fmt::print("{}\n", PrintableLines(simdjson::minify(last)));
      } else {
        PrintLine(last);
      }
    }
    // A backup that was made may have failed to remove older ones.
    if (WholeIn(state, "failed") > failed && state["failure"].get(failure) == simdjson::SUCCESS)
      return Error(ErrorCode::kUnavailable, TextIn(failure, "message"));
    if (was_made) return 0;
    return Error(ErrorCode::kUnavailable,
                 "The server was started anew while it made the backup: give the command again.");
  }
}

Result<int> AskForList(const StoreBackupCommand& command) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, Server::At(command));
  ASSIGN_OR_RETURN(const element answer, server->Ask("GET", "/_stator/backup/list"));
  if (command.json) {
    fmt::print("{}", PrintableLines(server->body()));
    return 0;
  }
  simdjson::dom::array list;
  std::vector<std::string> damaged;
  if (answer["backups"].get(list) == simdjson::SUCCESS)
    for (const element each : list) PrintLine(each);
  if (answer["damaged"].get(list) == simdjson::SUCCESS)
    for (const element each : list) damaged.emplace_back(std::string_view(each));
  return PrintDamaged(damaged);
}

// --- Without a server ----------------------------------------------------------------------------

store_backup::FlowOptions FlowOf(const StoreBackupCommand& command) {
  store_backup::FlowOptions flow;
  flow.bytes_per_second = static_cast<uint64_t>(command.rate_mb) * 1'000'000;
  return flow;
}

Result<int> BackUpDirectory(const StoreBackupCommand& command, Place& place, const Clock& clock) {
  ServeSettings settings;
  settings.data_dir = command.data_dir;
  settings.encryption = command.encryption;
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::path(command.data_dir) / "CURRENT", error))
    return ValidationError("There is no store in " + command.data_dir + ".");
  ASSIGN_OR_RETURN(const std::shared_ptr<const crypt::FileKeys> keys,
                   OpenFileKeys(command.encryption));
  ASSIGN_OR_RETURN(const std::unique_ptr<kv::Engine> engine, OpenEngine(settings, keys));
  store_backup::MakeOptions options;
  options.flow = FlowOf(command);
  options.version = STATOR_VERSION;
  if (keys != nullptr) options.key_id = keys->key_id();
  ASSIGN_OR_RETURN(const Backup made,
                   store_backup::MakeBackup(*engine, command.data_dir, place, clock, options));
  const Summary summary = store_backup::SummaryOf(made);
  if (command.json) {
    fmt::print("{}", PrintableLines(RenderSummary(summary)));
  } else {
    PrintLine(summary);
  }
  TRY(place.Begin());
  const Result<store_backup::Removed> removed = store_backup::RemoveOld(place, command.keep);
  place.End();
  if (!removed.ok()) return removed.error();
  if (removed->backups > 0 && !command.json)
    fmt::print("{} older backups were removed, with {}\n", removed->backups,
               Megabytes(removed->bytes));
  return 0;
}

Result<int> ListPlace(const StoreBackupCommand& command, Place& place) {
  std::vector<std::string> damaged;
  TRY(store_backup::VisitBackups(place, SIZE_MAX, &damaged, [&](const Backup& each) {
    const Summary summary = store_backup::SummaryOf(each);
    if (command.json) {
      fmt::print("{}", PrintableLines(RenderSummary(summary)));
    } else {
      PrintLine(summary);
    }
  }));
  return PrintDamaged(damaged);
}

Result<int> Verify(const StoreBackupCommand& command, Place& place) {
  ASSIGN_OR_RETURN(const Backup backup, store_backup::FindBackup(place, command.at));
  TRY(store_backup::VerifyBackup(place, backup, FlowOf(command)));
  fmt::print("{} is whole: {} in {} files were read\n", backup.id, Megabytes(backup.bytes()),
             backup.files.size());
  return 0;
}

Result<int> Restore(const StoreBackupCommand& command, Place& place) {
  ASSIGN_OR_RETURN(const Backup backup, store_backup::FindBackup(place, command.at));
  TRY(store_backup::RestoreBackup(place, backup, command.data_dir, FlowOf(command)));
  fmt::print(
      "{} holds the store as of {}; writes after it are not there.\n"
      "Every write that was answered before then is there, and none that was sent after {}.\n",
      Printable(command.data_dir), FormatTime(backup.as_of_micros),
      FormatTime(backup.until_micros));
  fmt::print("Backup {}, {} in {} files, all of them checked.\n", backup.id,
             Megabytes(backup.bytes()), backup.files.size());
  if (!backup.key_id.empty()) {
    fmt::print(
        "It is encrypted: a server needs --encryption-key-file with the key whose id is {}.\n",
        backup.key_id);
  }
  return 0;
}

Result<int> Run(const StoreBackupCommand& command) {
  using Call = StoreBackupCommand::Call;
  const bool offline = !command.data_dir.empty();
  if (command.call == Call::kBackup && !offline && command.place.empty()) {
    if (command.verify)
      return ValidationError("--verify needs --to: the place whose objects are read.");
    if (command.keep > 0 || command.rate_mb > 0)
      return ValidationError(
          "--keep and --rate-mb are for --data-dir: a server has its own (--store-backup-keep, "
          "--store-backup-rate-mb).");
    return command.list ? AskForList(command) : AskForBackup(command);
  }
  const SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Place> place,
                   OpenStoreBackupPlace(command.place, command.ca_file, clock));
  if (command.call == Call::kRestore) return Restore(command, *place);
  if (command.list) return ListPlace(command, *place);
  if (command.verify) return Verify(command, *place);
  if (!offline) {
    return ValidationError(
        "--to needs --data-dir, the directory of a stopped store. A server that runs has its place "
        "from --store-backup: give `stator backup` without --to.");
  }
  return BackUpDirectory(command, *place, clock);
}

void AddCommon(CLI::App* app, StoreBackupCommand* command) {
  app->add_option("--at", command->at,
                  "the id of a backup, or a moment such as 2026-11-27T11:00:00Z: the newest that "
                  "is not younger");
  app->add_option("--s3-ca-file", command->ca_file,
                  "authorities that may sign the certificate of the S3 endpoint, in place of the "
                  "system's")
      ->envname("STATOR_S3_CA_FILE");
  app->add_option("--rate-mb", command->rate_mb, "MB in a second at most; 0: no bound")
      ->check(CLI::Range(0, 1 << 20));
}

}  // namespace

void AddStoreBackupCommands(CLI::App* app, StoreBackupCommand* command) {
  CLI::App* backup = app->add_subcommand(
      "backup", "back up a whole store, of a server or of a directory (docs/backup.md)");
  backup->add_option("--data-dir", command->data_dir,
                     "the directory of a stopped store; without it a server makes the backup, in "
                     "the place of its --store-backup");
  backup->add_option("--to", command->place,
                     "where backups are: a directory, or https://HOST/BUCKET/PREFIX");
  backup->add_option("--keep", command->keep, "how many of the newest are kept; 0: all")
      ->check(CLI::Range(0, 100'000));
  backup->add_flag("--list", command->list, "list those that are there");
  backup->add_flag("--verify", command->verify, "read all objects of one and compare checksums");
  backup->add_flag("--json", command->json, "print JSON");
  AddCommon(backup, command);
  AddEncryptionOptions(backup, &command->encryption);
  backup->add_option("--endpoint-url", command->endpoint_url,
                     "the server to ask; AWS_ENDPOINT_URL or http://127.0.0.1:8000 if absent");
  backup->add_option("--region", command->region, "Region that calls are signed for");
  backup->add_option("--ca", command->authorities_file,
                     "certificates of the authorities that an https:// server is trusted by");
  backup->callback([command] { command->call = StoreBackupCommand::Call::kBackup; });

  CLI::App* restore =
      app->add_subcommand("restore", "make a data directory of a backup of a whole store");
  restore
      ->add_option("--from", command->place,
                   "where backups are: a directory, or https://HOST/BUCKET/PREFIX")
      ->required();
  restore->add_option("--data-dir", command->data_dir, "the directory to fill, new or empty")
      ->required();
  AddCommon(restore, command);
  restore->callback([command] { command->call = StoreBackupCommand::Call::kRestore; });
}

int Execute(const StoreBackupCommand& command) {
  SetLogLevel(LogLevel::kWarn);
  return ExitStatus(Run(command));
}

}  // namespace stator::server
