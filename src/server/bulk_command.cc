#include "server/bulk_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "api_client/credentials.h"
#include "api_client/endpoint.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/random.h"
#include "bulk/export_run.h"
#include "bulk/import_run.h"
#include "bulk/live_run.h"
#include "bulk/mask.h"
#include "bulk/meter.h"
#include "bulk/scan.h"

namespace stator::server {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<int> interrupted_by{0};

void Interrupt(int signal) {
  interrupted_by.store(signal, std::memory_order_relaxed);
  interrupted.store(true, std::memory_order_relaxed);
}

// The first signal ends the command at its next step, a second one ends the process.
void HearSignals() {
  struct sigaction action = {};
  action.sa_handler = Interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

Result<api_client::Endpoint> EndpointOf(const BulkCommand& command) {
  return api_client::FindEndpoint(
      {command.endpoint_url, command.region, command.ca_file},
      api_client::WithProfile(api_client::ProcessEnvironment(), command.profile));
}

Result<std::optional<bulk::Mask>> MaskOf(const BulkCommand& command) {
  if (command.mask_file.empty()) return std::optional<bulk::Mask>();
  ASSIGN_OR_RETURN(bulk::Mask mask, bulk::Mask::Load(command.mask_file));
  return std::optional<bulk::Mask>(std::move(mask));
}

std::string RateText(int64_t items, double bytes, int64_t micros) {
  const double seconds = std::max(static_cast<double>(micros) / 1e6, 1e-3);
  return fmt::format(
      "in {:.1f} s, {}/s, {} items/s", seconds, bulk::BytesText(bytes / seconds),
      bulk::WithSeparators(static_cast<int64_t>(static_cast<double>(items) / seconds)));
}

int Interrupted() {
  fmt::print(stderr, "Interrupted. Give the same command again to go on.\n");
  return 128 + interrupted_by.load(std::memory_order_relaxed);
}

Result<int> Export(const BulkCommand& command, const bulk::Surroundings& around) {
  bulk::ExportSettings settings;
  ASSIGN_OR_RETURN(settings.endpoint, EndpointOf(command));
  ASSIGN_OR_RETURN(settings.mask, MaskOf(command));
  settings.table = command.tables.front();
  settings.to = command.to;
  settings.segments = command.segments;
  settings.consistent = command.consistent;
  settings.columns = command.columns;
  if (!command.format.empty()) settings.format = *bulk::FormatNamed(command.format);
  if (!settings.columns.empty() && settings.format != bulk::Format::kCsv)
    return ValidationError("--columns is for --format csv");
  ASSIGN_OR_RETURN(const bulk::ExportReport report, bulk::RunExport(settings, around));
  fmt::print("{} items, {} in {} {}, {} read units\n", bulk::WithSeparators(report.items),
             bulk::BytesText(static_cast<double>(report.bytes)), report.files.size(),
             report.files.size() == 1 ? "file" : "files", bulk::WithSeparators(report.read_units));
  if (!report.types.empty()) {
    std::string types;
    for (const std::string& type : report.types) types += (types.empty() ? "" : ",") + type;
    fmt::print("Columns that are no text, for the import: --types {}\n", Printable(types));
  }
  return report.whole ? 0 : Interrupted();
}

Result<std::vector<model::KeyAttribute>> TypesOf(const std::vector<std::string>& texts) {
  std::vector<model::KeyAttribute> types;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    const std::optional<model::Type> type =
        equals == std::string::npos ? std::nullopt : model::TypeFromName(text.substr(equals + 1));
    if (!type || (*type != model::Type::kN && *type != model::Type::kB && *type != model::Type::kS))
      return ValidationError(
          fmt::format("\"{}\": a type is like age=N; there are S, N and B", text));
    types.push_back({text.substr(0, equals), *type});
  }
  return types;
}

constexpr int kNotEqual = 3;

// Prints how two tables compare. Returns its part of the exit code.
int PrintCheck(const std::string& name, const bulk::CheckReport& check) {
  using Outcome = bulk::CheckReport::Outcome;
  const std::string what = check.all ? "all items" : "a sample";
  if (check.outcome == Outcome::kEqual) {
    fmt::print("{}: equal: {} compared, {} of the source and {} of the target\n", name, what,
               bulk::WithSeparators(check.source), bulk::WithSeparators(check.target));
    return 0;
  }
  const char* const verdict = check.outcome == Outcome::kDiffers ? "NOT EQUAL" : "NOT DECIDED";
  fmt::print(
      "{}: {}: {} compared, {} of the source and {} of the target; {}{} differ, {} were "
      "written all the while\n",
      name, verdict, what, bulk::WithSeparators(check.source), bulk::WithSeparators(check.target),
      check.more ? "at least " : "", bulk::WithSeparators(check.differ),
      bulk::WithSeparators(check.busy));
  for (const std::string& each : check.differences) fmt::print("{}: {}\n", name, Printable(each));
  return kNotEqual;
}

// Prints what became of a table. Returns its part of the exit code.
int PrintLive(const std::string& table, const bulk::LiveReport& report) {
  const std::string name = Printable(table);
  if (!report.scanned_before) {
    fmt::print("{}: {} items, {}, {} read units\n", name, bulk::WithSeparators(report.items),
               RateText(report.copied, static_cast<double>(report.bytes), report.micros),
               bulk::WithSeparators(report.read_units));
  }
  int code = 0;
  if (report.applied > 0 || report.records > 0) {
    fmt::print("{}: {} records of the stream applied, {} in all\n", name,
               bulk::WithSeparators(report.applied), bulk::WithSeparators(report.records));
  }
  if (report.check) code = PrintCheck(name, *report.check);
  if (report.written) {
    fmt::print(
        "{}: the source was written during the check: let its writers rest, and give the "
        "same command again\n",
        name);
    code = kNotEqual;
  } else if (report.whole && !report.progress_file.empty() && code == 0) {
    fmt::print(
        "{}: give the same command again to catch up, with --finish once the writers of the "
        "source rest\n",
        name);
  }
  for (const std::string& note : report.notes) fmt::print("{}: {}\n", name, Printable(note));
  if (report.errors > 0) {
    fmt::print(stderr, "{}: {} changes were refused", name, bulk::WithSeparators(report.errors));
    if (!report.first_error.empty())
      fmt::print(stderr, ", the first: {}", Printable(report.first_error));
    fmt::print(stderr, "\nSee {}\n", Printable(report.errors_file));
  }
  std::fflush(stdout);
  return std::max(code, report.errors == 0 ? 0 : 1);
}

Result<std::vector<std::string>> TablesOf(const BulkCommand& command,
                                          const api_client::Endpoint& source,
                                          const bulk::Surroundings& around) {
  if (command.all_tables != command.tables.empty())
    return ValidationError("name the tables, or give --all-tables");
  if (!command.all_tables) return command.tables;
  return bulk::ListTables(*bulk::MakeClient(source, around));
}

Result<int> ImportLive(const BulkCommand& command, const bulk::Surroundings& around) {
  bulk::LiveSettings settings;
  ASSIGN_OR_RETURN(settings.target, EndpointOf(command));
  ASSIGN_OR_RETURN(
      settings.source,
      api_client::FindEndpoint(
          {command.from_endpoint, command.from_region, command.from_ca},
          api_client::WithProfile(api_client::ProcessEnvironment(), command.from_profile)));
  ASSIGN_OR_RETURN(settings.mask, MaskOf(command));
  settings.work_dir = command.work_dir;
  settings.segments = command.segments;
  settings.read_units = command.read_units;
  settings.on_demand = command.on_demand;
  settings.into = command.into;
  settings.follow = command.follow;
  settings.enable_stream = command.enable_stream;
  settings.finish = command.finish;
  if (!command.follow && (command.finish || command.enable_stream))
    return ValidationError("--finish and --enable-stream go with --follow");
  using Check = bulk::LiveSettings::Check;
  settings.check = command.check == "all"      ? Check::kAll
                   : command.check == "sample" ? Check::kSample
                                               : Check::kNone;
  ASSIGN_OR_RETURN(const std::vector<std::string> tables,
                   TablesOf(command, settings.source, around));
  int code = 0;
  for (const std::string& table : tables) {
    settings.table = table;
    Result<bulk::LiveReport> report = bulk::RunLive(settings, around);
    if (!report.ok()) {
      return Error(report.error().code(), fmt::format("{}: {}", table, report.error().message()),
                   report.error().payload());
    }
    code = std::max(code, PrintLive(table, *report));
    if (!report->whole) return Interrupted();
  }
  return code;
}

Result<int> Import(const BulkCommand& command, const bulk::Surroundings& around) {
  if (!command.from_endpoint.empty()) return ImportLive(command, around);
  if (command.tables.size() != 1)
    return ValidationError("--from: name one table that the items go to");
  bulk::ImportSettings settings;
  ASSIGN_OR_RETURN(settings.endpoint, EndpointOf(command));
  ASSIGN_OR_RETURN(settings.mask, MaskOf(command));
  ASSIGN_OR_RETURN(settings.input.types, TypesOf(command.types));
  settings.table = command.tables.front();
  settings.from = command.from;
  settings.connections = command.connections;
  settings.work_dir = command.work_dir;
  if (!command.format.empty()) settings.input.format = bulk::FormatNamed(command.format);
  if (!command.columns.empty()) settings.input.columns = command.columns;
  if (command.delimiter.size() != 1) return ValidationError("--delimiter: must be one character");
  settings.input.delimiter = command.delimiter.front();
  if (!command.create.empty()) {
    ASSIGN_OR_RETURN(settings.create, bulk::ParseKey(command.create));
  }
  ASSIGN_OR_RETURN(const bulk::ImportReport report, bulk::RunImport(settings, around));
  fmt::print("{} items, {}\n", bulk::WithSeparators(report.items),
             RateText(report.put, static_cast<double>(report.bytes), report.micros));
  if (report.errors > 0) {
    fmt::print(stderr, "{} items were refused", bulk::WithSeparators(report.errors));
    if (!report.first_error.empty())
      fmt::print(stderr, ", the first: {}", Printable(report.first_error));
    fmt::print(stderr, "\n");
    for (const std::string& file : report.error_files)
      fmt::print(stderr, "See {}\n", Printable(file));
  }
  if (!report.whole) return Interrupted();
  return report.errors == 0 ? 0 : 1;
}

void AddCommon(CLI::App* sub, BulkCommand* given) {
  sub->add_option("--endpoint-url", given->endpoint_url,
                  "the server, or \"aws\" for DynamoDB; else AWS_ENDPOINT_URL_DYNAMODB, "
                  "AWS_ENDPOINT_URL, http://127.0.0.1:8000");
  sub->add_option("--profile", given->profile,
                  "profile of the AWS CLI's files with the access key; before the environment");
  sub->add_option("--region", given->region, "Region that calls are signed for");
  sub->add_option("--ca", given->ca_file,
                  "certificates of the authorities that an https:// server is trusted by");
  sub->add_option("--mask", given->mask_file,
                  "rules that mask personal data (docs/import-export.md)");
  sub->add_flag("--quiet", given->quiet, "print no progress");
  sub->add_option("--patience", given->patience_seconds,
                  "seconds in which a call is repeated before the command gives up")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
}

// The options of an import from an endpoint.
void AddLive(CLI::App* sub, CLI::Option* from, BulkCommand* given) {
  CLI::Option* const endpoint =
      sub->add_option("--from-endpoint", given->from_endpoint,
                      "copy tables of this server, or of \"aws\", DynamoDB itself")
          ->excludes(from);
  const auto add = [endpoint](CLI::Option* option) { return option->needs(endpoint); };
  add(sub->add_option("--from-region", given->from_region, "Region of the source"));
  add(sub->add_option("--from-profile", given->from_profile,
                      "profile of the AWS CLI's files with the source's access key"));
  add(sub->add_option("--from-ca", given->from_ca,
                      "certificates of the authorities that an https:// source is trusted by"));
  add(sub->add_flag("--all-tables", given->all_tables, "all tables of the source"));
  add(sub->add_option("--segments", given->segments, "parts of a table that are read at once")
          ->check(CLI::Range(size_t{1}, bulk::kMostSegments))
          ->capture_default_str());
  add(sub->add_option("--read-units", given->read_units,
                      "read units that the source is asked for in a second, at most")
          ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000})));
  add(sub->add_flag("--on-demand", given->on_demand,
                    "make on-demand tables, whatever the source's"));
  add(sub->add_flag("--follow", given->follow,
                    "apply what is written to the source meanwhile, from its stream"));
  add(sub->add_flag("--enable-stream", given->enable_stream,
                    "enable a stream on the source's table if it has none"));
  add(sub->add_flag("--finish", given->finish,
                    "with --follow: the writers of the source rest; set stream, time to live, tags "
                    "and protection if the tables are equal"));
  add(sub->add_option("--check", given->check, "compare all items at the end, a sample, or none")
          ->check(CLI::IsMember({"all", "sample", "none"}))
          ->capture_default_str());
  add(sub->add_flag("--into", given->into, "take a table of the target that has items"));
}

}  // namespace

void AddBulkCommands(CLI::App* app, BulkCommand* command) {
  const auto out = std::make_shared<BulkCommand>();
  CLI::App* sub = app->add_subcommand(
      "export", "write a table of any endpoint to files; goes on where it was ended");
  sub->add_option("TABLE", out->tables, "the table")->required()->expected(1);
  AddCommon(sub, out.get());
  sub->add_option("--to", out->to,
                  "the file, compressed if its name ends with .gz; or a directory, for a file of "
                  "each segment")
      ->required();
  sub->add_option("--format", out->format,
                  "dynamodb-json (as exports of DynamoDB), json-lines, csv")
      ->check(CLI::IsMember({"dynamodb-json", "json-lines", "csv"}));
  sub->add_option("--columns", out->columns, "columns of csv; without, a first scan finds them")
      ->delimiter(',');
  sub->add_option("--segments", out->segments, "parts of the table that are read at once")
      ->check(CLI::Range(size_t{1}, bulk::kMostSegments))
      ->capture_default_str();
  sub->add_flag("--consistent", out->consistent, "read strongly consistent, at twice the units");
  sub->callback([command, out] {
    *command = *out;
    command->call = BulkCommand::Call::kExport;
  });

  const auto in = std::make_shared<BulkCommand>();
  sub = app->add_subcommand(
      "import",
      "put items of files, or of tables of another endpoint, into tables of any endpoint; goes on "
      "where it was ended");
  sub->add_option("TABLE", in->tables, "the table; from an endpoint also several");
  AddCommon(sub, in.get());
  CLI::Option* const from =
      sub->add_option("--from", in->from, "files, or directories such as an export of DynamoDB");
  AddLive(sub, from, in.get());
  sub->add_option("--format", in->format,
                  "dynamodb-json, json-lines, csv, ion; without, names and contents say it")
      ->check(CLI::IsMember({"dynamodb-json", "json-lines", "csv", "ion"}));
  sub->add_option("--columns", in->columns, "columns of csv whose first line is no header")
      ->delimiter(',');
  sub->add_option("--types", in->types, "columns of csv that are no text, such as age=N,photo=B")
      ->delimiter(',');
  sub->add_option("--delimiter", in->delimiter, "between fields of csv")->capture_default_str();
  sub->add_option("--create", in->create,
                  "make the table if it is not there, on demand, with this key: pk:S or pk:S,sk:N");
  sub->add_option("--connections", in->connections, "requests at once")
      ->check(CLI::Range(size_t{1}, bulk::kMostConnections))
      ->capture_default_str();
  sub->add_option("--work-dir", in->work_dir,
                  "directory for progress and error files; else they are beside each file")
      ->check(CLI::ExistingDirectory);
  sub->callback([command, in] {
    if (in->from.empty() == in->from_endpoint.empty())
      throw CLI::RequiredError("--from or --from-endpoint");
    *command = *in;
    command->call = BulkCommand::Call::kImport;
  });
}

int Execute(const BulkCommand& command) {
  SetLogLevel(LogLevel::kWarn);
  HearSignals();
  const SystemClock clock;
  SeededRandom random(SystemSeed());
  bulk::StopFlag stop(interrupted);
  bulk::Surroundings around{clock, random, stop, bulk::MakePause(stop)};
  around.patience_micros = command.patience_seconds * 1'000'000;
  around.quiet = command.quiet;
  const Result<int> code = command.call == BulkCommand::Call::kExport ? Export(command, around)
                                                                      : Import(command, around);
  if (code.ok()) return *code;
  if (interrupted) return Interrupted();
  fmt::print(stderr, "{}\n", PrintableLines(code.error().message()));
  // A refusal of the settings is no reason to go on with them.
  if (code.error().code() == ErrorCode::kUnavailable)
    fmt::print(stderr, "Give the same command again to go on.\n");
  return 1;
}

}  // namespace stator::server
