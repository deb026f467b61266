// Reads and checks the settings of isolated accounts.
#include "server/isolation_settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/time_text.h"
#include "server/settings.h"

namespace stator::server {
namespace {

constexpr size_t kMostAccounts = 100'000;

CLI::Validator IdleTime() {
  return CLI::Validator(
      [](const std::string& text) {
        const std::optional<int64_t> micros = ParseDuration(text);
        return micros && *micros >= 0 ? std::string() : "not a duration such as 1h or 0s: " + text;
      },
      "DURATION");
}

}  // namespace

void AddIsolationOptions(CLI::App* app, IsolationSettings* s) {
  app->add_option_function<std::string>(
         "--isolate", [s](const std::string& text) { s->by_key = text == "access-key"; },
         "access-key: each access key has an account of its own, with tables of its own, made at "
         "its first request; off: one account for all")
      ->check(CLI::IsMember({"off", "access-key"}))
      ->envname("STATOR_ISOLATE")
      ->default_str("off");
  app->add_option("--isolate-accounts", s->most_accounts,
                  "accounts of --isolate at once; a further access key is refused")
      ->check(CLI::Range(size_t{1}, kMostAccounts))
      ->envname("STATOR_ISOLATE_ACCOUNTS")
      ->capture_default_str();
  app->add_option_function<std::string>(
         "--isolate-idle", [s](const std::string& text) { s->idle_micros = *ParseDuration(text); },
         "an account of --isolate is dropped after this time without a request; 0s: never, as with "
         "--clock=manual if this is absent")
      ->check(IdleTime())
      ->envname("STATOR_ISOLATE_IDLE")
      ->default_str("1h");
}

std::optional<std::string> SettleIsolation(const CLI::App& serve, ServeSettings* settings) {
  IsolationSettings& isolation = settings->isolation;
  if (!isolation.by_key) {
    for (const char* option : {"--isolate-accounts", "--isolate-idle"}) {
      if (serve.count(option) > 0) return fmt::format("{} needs --isolate=access-key", option);
    }
    return std::nullopt;
  }
  if (settings->access.mode != AuthMode::kOff) {
    return "--isolate=access-key is for --auth=off: with --auth=warn and --auth=enforce a key has "
           "the account that it was made in (docs/security.md#accounts)";
  }
  if (settings->engine == EngineKind::kRados) {
    return "--isolate=access-key is not for --engine=rados: the servers of a pool do not know of "
           "one another's requests, so none could tell that an account is idle";
  }
  // A move of the clock by a day is no day without requests.
  if (settings->clock == ClockKind::kManual && serve.count("--isolate-idle") == 0)
    isolation.idle_micros = 0;
  return std::nullopt;
}

}  // namespace stator::server
