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
#include "bulk/mask.h"
#include "bulk/meter.h"

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
  return api_client::FindEndpoint({command.endpoint_url, command.region, command.ca_file},
                                  api_client::ProcessEnvironment());
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
  settings.table = command.table;
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

Result<int> Import(const BulkCommand& command, const bulk::Surroundings& around) {
  bulk::ImportSettings settings;
  ASSIGN_OR_RETURN(settings.endpoint, EndpointOf(command));
  ASSIGN_OR_RETURN(settings.mask, MaskOf(command));
  ASSIGN_OR_RETURN(settings.input.types, TypesOf(command.types));
  settings.table = command.table;
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
  sub->add_option("TABLE", given->table, "the table")->required();
  sub->add_option("--endpoint-url", given->endpoint_url,
                  "the server, or \"aws\" for DynamoDB; else AWS_ENDPOINT_URL_DYNAMODB, "
                  "AWS_ENDPOINT_URL, http://127.0.0.1:8000");
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

}  // namespace

void AddBulkCommands(CLI::App* app, BulkCommand* command) {
  const auto out = std::make_shared<BulkCommand>();
  CLI::App* sub = app->add_subcommand(
      "export", "write a table of any endpoint to files; goes on where it was ended");
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
      "import", "put items of files into a table of any endpoint; goes on where it was ended");
  AddCommon(sub, in.get());
  sub->add_option("--from", in->from, "files, or directories such as an export of DynamoDB")
      ->required();
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
