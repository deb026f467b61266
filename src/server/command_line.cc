#include "server/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "server/option_checks.h"
#include "server/settings_file.h"
#include "server/usage_error.h"
#include "server/version.h"
#include "simulate/scenario_reader.h"

namespace stator::server {
namespace {

// One flag of DynamoDB Local and the flag of Stator that replaces it. If `ours` is empty the flag
// is dropped: it has no meaning here, or Stator always behaves so.
struct LocalFlag {
  std::string_view local;
  std::string_view ours;
  bool takes_value;
};
constexpr LocalFlag kLocalFlags[] = {
    {"-port", "--port", true},
    {"-jar", "", true},  // a command line of `java`, as Compose files for DynamoDB Local have it
    {"-inMemory", "--in-memory", false},
    {"-dbPath", "--data-dir", true},
    {"-cors", "--cors", true},
    {"-delayTransientStatuses", "--delay-transient-statuses", false},
    {"-sharedDb", "", false},  // one data set for all keys and regions, as always here
    {"-optimizeDbBeforeStartup", "", false},  // nothing to do
    {"-disableTelemetry", "", false},         // there is none
    {"-help", "--help", false},
    {"-version", "--version", false},
};

// True if one of DynamoDB Local's flags was given.
bool SpeaksAsLocal(int argc, const char* const* argv) {
  return std::any_of(argv + 1, argv + argc, [](std::string_view argument) {
    return std::any_of(std::begin(kLocalFlags), std::end(kLocalFlags),
                       [argument](const LocalFlag& flag) { return flag.local == argument; });
  });
}

bool IsSet(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// The command that is named, behind --config at the most; empty: none.
std::string_view NamedCommand(const std::vector<std::string>& arguments) {
  size_t first = 0;
  while (first < arguments.size() && arguments[first].starts_with("--config")) {
    first += arguments[first] == "--config" ? 2 : 1;
  }
  return first < arguments.size() && !arguments[first].starts_with("-")
             ? std::string_view(arguments[first])
             : std::string_view();
}

void AddSimulateOptions(CLI::App* app, simulate::Command* command) {
  app->add_option("file", command->file, "the scenario (docs/throughput.md)")
      ->check(ExistingFile());
  app->add_option("--compare", command->compare,
                  "scenarios to compare, or a key of [model] and its values: "
                  "adaptive=off,delayed,instant or rules=2014,today")
      ->expected(1, 100);
  app->add_option("--out", command->out_dir,
                  "directory for NAME.json and NAME.svg, made if missing")
      ->capture_default_str();
  app->add_flag_callback(
      "--no-files", [command] { command->write_files = false; }, "print the summary only");
  app->add_option("--seed", command->seed, "seed, in place of the scenario's");
}

void AddLearnOptions(CLI::App* app, learn::Command* command) {
  app->add_option("lessons", command->lessons, "names of lessons; without: the list");
  app->add_flag("--all", command->all, "play all of them");
  app->add_option("--out", command->out_dir, "directory for NAME.svg, made if missing");
}

void AddAdviseOptions(CLI::App* app, advise::Command* command, std::string* price_file) {
  app->add_option("files", command->files, "recordings (docs/advise.md), in the order of time")
      ->required()
      ->check(ExistingFile());
  app->add_option("--prices", *price_file,
                  "TOML file with [prices], as in scenarios (docs/throughput.md)")
      ->check(ExistingFile());
  app->add_flag("--json", command->json, "print one JSON object");
}

void AddCopyOptions(CLI::App* app, CopyCommand* command) {
  app->add_option("--from", command->from, "the source: a directory, or rados:POOL[/NAMESPACE]")
      ->required();
  app->add_option("--to", command->to, "the target, made if missing")->required();
  app->add_option("--table", command->tables, "a table; all of them without");
  AddEncryptionOptions(app, &command->from_encryption, "from-");
  AddEncryptionOptions(app, &command->to_encryption, "to-");
  app->add_option("--ceph-conf", command->ceph_conf, "of rados: the cluster's ceph.conf")
      ->envname("STATOR_CEPH_CONF");
  app->add_option("--ceph-user", command->ceph_user,
                  "of rados: user of the cluster, without \"client.\"")
      ->envname("STATOR_CEPH_USER")
      ->capture_default_str();
}

void AddCertOptions(CLI::App* app, CertCommand* command) {
  app->add_option("--out", command->out_dir, "directory for the files, made if missing")
      ->required();
  app->add_option("--host", command->hosts,
                  "names and addresses of the server, beside localhost, 127.0.0.1 and ::1")
      ->delimiter(',');
  app->add_option("--ca", command->authority_dir,
                  "sign with the authority that an earlier call made in this directory");
  app->add_option("--client", command->client,
                  "make a client's certificate of this name instead, for --tls-client-ca");
  app->add_option("--days", command->days, "days until the certificate expires")
      ->check(CLI::Range(1, 36500))
      ->capture_default_str();
}

void AddHealthOptions(CLI::App* app, HealthCheck* command) {
  app->add_option("--host", command->host, "host of the server")->capture_default_str();
  app->add_option("--port", command->port, "port of the server")
      ->check(WholeNumber<uint16_t>())
      ->envname(IsSet("STATOR_MANAGEMENT_PORT") ? "STATOR_MANAGEMENT_PORT" : "STATOR_PORT")
      ->capture_default_str();
  // The port of the environment speaks TLS exactly then.
  command->tls =
      IsSet("STATOR_TLS_CERT") && !IsSet("STATOR_TLS_PORT") && !IsSet("STATOR_MANAGEMENT_PORT");
  app->add_flag("--tls", command->tls,
                "the port speaks TLS; the certificate is not verified, for nothing is told to it");
  app->add_option("--timeout", command->timeout_seconds, "seconds to wait for the answer")
      ->check(CLI::Range(1, 600))
      ->capture_default_str();
}

// The arguments of one command line, and the words of it that commands take apart after it was
// parsed.
struct Commands {
  CLI::App* serve = nullptr;
  bool in_memory = false;
  CLI::App* simulate = nullptr;
  CLI::App* learn = nullptr;
  CLI::App* advise = nullptr;
  std::string price_file;
  CLI::App* copy = nullptr;
  CLI::App* cluster = nullptr;
  CLI::App* make_key = nullptr;
  std::string master_key_file;
  CLI::App* cert = nullptr;
  CLI::App* health = nullptr;
  CLI::App* iam = nullptr;
  std::string iam_call;
  CLI::App* mcp = nullptr;
};

void AddCommands(CLI::App* app, Commands* commands, CommandLine* line) {
  CLI::App* const serve = app->add_subcommand("serve", "serve the DynamoDB API until SIGTERM");
  AddServeOptions(serve, &line->serve, &commands->in_memory);
  serve->configurable();
  serve->fallthrough();
  commands->serve = serve;
  commands->simulate = app->add_subcommand(
      "simulate", "play a scenario on the throughput model and report throttling");
  AddSimulateOptions(commands->simulate, &line->simulate);
  commands->learn =
      app->add_subcommand("learn", "list or play lessons on partitions and keys (docs/learn.md)");
  AddLearnOptions(commands->learn, &line->learn);
  commands->advise =
      app->add_subcommand("advise", "advise on keys, indexes and cost from recorded requests");
  AddAdviseOptions(commands->advise, &line->advise, &commands->price_file);
  commands->copy = app->add_subcommand(
      "copy", "copy tables from one store to another; may be killed and given again");
  AddCopyOptions(commands->copy, &line->copy);
  commands->cluster = AddClusterCommand(app, &line->cluster);
  AddPastCommands(app, &line->past);
  AddBulkCommands(app, &line->bulk);
  AddStoreBackupCommands(app, &line->store_backup);
  commands->make_key = app->add_subcommand(
      "make-master-key",
      "make a file with a new key for --master-key-file or --encryption-key-file");
  commands->make_key
      ->add_option("file", commands->master_key_file, "the file, which must not exist")
      ->required();
  commands->cert = app->add_subcommand(
      "cert", "make certificates for TLS: an authority, and one for a server or a client");
  AddCertOptions(commands->cert, &line->cert);
  commands->health = app->add_subcommand(
      "healthcheck", "ask a server whether it is ready; exits with 0 if it is, else with 1");
  AddHealthOptions(commands->health, &line->health);
  commands->iam = app->add_subcommand(
      "iam", "IAM's calls on a store without a server, in the words of `aws iam`; and why");
  AddIamOptions(commands->iam, &line->iam, &commands->iam_call);
  commands->mcp = AddMcpCommand(app, &line->mcp);
}

CommandLine::Action ActionOf(const Commands& commands, const CommandLine& line) {
  using Action = CommandLine::Action;
  if (!line.past.call.empty()) return Action::kPast;
  if (line.bulk.call != BulkCommand::Call::kNone) return Action::kBulk;
  if (line.store_backup.call != StoreBackupCommand::Call::kNone) return Action::kStoreBackup;
  const std::pair<const CLI::App*, Action> named[] = {
      {commands.simulate, Action::kSimulate}, {commands.learn, Action::kLearn},
      {commands.advise, Action::kAdvise},     {commands.copy, Action::kCopy},
      {commands.cluster, Action::kCluster},   {commands.make_key, Action::kExit},
      {commands.cert, Action::kCert},         {commands.health, Action::kHealthCheck},
      {commands.iam, Action::kIam},           {commands.mcp, Action::kMcp},
  };
  for (const auto& [command, action] : named) {
    if (command->parsed()) return action;
  }
  return Action::kServe;
}

// Completes what the command was told. Returns what is wrong, if anything.
std::optional<std::string> Settle(const Commands& commands, bool speaks_as_local,
                                  CommandLine* line) {
  switch (line->action) {
    case CommandLine::Action::kServe:
      return SettleServe(*commands.serve, commands.in_memory, speaks_as_local, &line->serve);
    case CommandLine::Action::kStoreBackup: return CheckEncryption(line->store_backup.encryption);
    case CommandLine::Action::kIam: return SettleIam(*commands.iam, commands.iam_call, &line->iam);
    case CommandLine::Action::kAdvise: {
      if (commands.price_file.empty()) return std::nullopt;
      Result<throughput::UnitPrices> prices = simulate::ReadPriceFile(commands.price_file);
      if (!prices.ok()) return prices.error().message();
      line->advise.prices = *prices;
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

// Says that there is no command of this name, and which one may be meant.
std::string NoSuchCommand(const std::string& command, const std::vector<CLI::App*>& known) {
  std::vector<std::string> names;
  for (const CLI::App* each : known) names.push_back(each->get_name());
  const std::string nearest = Nearest(command, names);
  return fmt::format("there is no command \"{}\"; {}\n", command,
                     nearest.empty() ? std::string("stator --help lists them")
                                     : fmt::format("did you mean {}?", nearest));
}

}  // namespace

std::vector<std::string> TranslateLocalFlags(std::vector<std::string> arguments) {
  std::vector<std::string> out;
  // Options of the Java machine stand in front of -jar.
  if (const auto jar = std::ranges::find(arguments, "-jar"); jar != arguments.end()) {
    arguments.erase(std::remove_if(arguments.begin(), jar,
                                   [](const std::string& each) {
                                     return each.starts_with("-D") || each.starts_with("-X");
                                   }),
                    jar);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto flag =
        std::find_if(std::begin(kLocalFlags), std::end(kLocalFlags),
                     [&](const LocalFlag& candidate) { return candidate.local == arguments[i]; });
    if (flag == std::end(kLocalFlags)) {
      out.push_back(std::move(arguments[i]));
      continue;
    }
    if (!flag->ours.empty()) out.emplace_back(flag->ours);
    if (flag->takes_value && i + 1 < arguments.size()) {
      ++i;
      if (!flag->ours.empty()) out.push_back(std::move(arguments[i]));
    }
  }
  // `stator help [COMMAND]` and `stator version` are the flags of that name.
  if (!out.empty() && out.front() == "version") out.front() = "--version";
  if (!out.empty() && out.front() == "help") {
    out.erase(out.begin());
    out.emplace_back("--help");
  }
  const bool asks = !out.empty() &&
                    (out.front() == "--help" || out.front() == "--version" || out.front() == "-h");
  if (!asks && NamedCommand(out).empty()) out.insert(out.begin(), "serve");
  return out;
}

CommandLine ParseCommandLine(int argc, const char* const* argv) {
  CommandLine result;
  CLI::App app("Stator: Amazon DynamoDB's API as software that you run yourself", "stator");
  app.set_version_flag("--version", "stator " + std::string(VersionText()));
  app.require_subcommand(0, 1);
  Commands commands;
  AddCommands(&app, &commands, &result);
  app.footer(
      "Without a subcommand it serves. DynamoDB Local's flags (-port, -inMemory, -dbPath ...) are "
      "understood.");

  std::vector<std::string> arguments =
      TranslateLocalFlags(std::vector<std::string>(argv + 1, argv + argc));
  const std::string command(NamedCommand(arguments));
  const std::vector<CLI::App*> known = app.get_subcommands(nullptr);
  const auto is_named = [&command](const CLI::App* each) { return each->get_name() == command; };
  if (!command.empty() && std::none_of(known.begin(), known.end(), is_named)) {
    std::cerr << NoSuchCommand(command, known);
    result.exit_code = 1;
    return result;
  }
  // Only the command serve reads the settings file, so that an error in the file does not stop
  // other commands.
  app.set_config("--config", command == "serve" ? "stator.toml" : "",
                 "settings file of serve (stator.toml), whose options stand under [serve]");
  app.config_formatter(std::make_shared<SettingsFile>(*commands.serve, result.serve));
  app.allow_config_extras(
      CLI::config_extras_mode::error);  // a misspelt setting must not look as if it took effect
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 expects them
  try {
    app.parse(reversed);
  } catch (const CLI::Success& asked) {
    result.exit_code = app.exit(asked, std::cout, std::cerr);
    return result;
  } catch (const CLI::ParseError& error) {
    std::vector<std::string> local;
    for (const LocalFlag& flag : kLocalFlags) local.emplace_back(flag.local);
    std::cerr << PrintableLines(ExplainUsage(error, app, arguments, local)) << '\n'
              << "Run with --help for more information.\n";
    result.exit_code = error.get_exit_code();
    return result;
  }
  result.action = ActionOf(commands, result);
  if (const std::optional<std::string> wrong =
          Settle(commands, SpeaksAsLocal(argc, argv), &result)) {
    std::cerr << *wrong << '\n';
    // `aws iam` ends with 252 for words that are none of a call's.
    result.exit_code = result.action == CommandLine::Action::kIam ? 252 : 1;
    result.action = CommandLine::Action::kExit;
  } else if (commands.make_key->parsed()) {
    result.exit_code = MakeMasterKey(commands.master_key_file);
  }
  return result;
}

}  // namespace stator::server
