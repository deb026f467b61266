// The settings of accounts of their own for access keys (ops/isolated_accounts.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace stator::server {

struct ServeSettings;

struct IsolationSettings {
  bool by_key = false;                  // each access key has an account of its own
  size_t most_accounts = 5'000;         // at once
  int64_t idle_micros = 3'600'000'000;  // after which an account is dropped; 0: never
};

void AddIsolationOptions(CLI::App* app, IsolationSettings* settings);

// Completes the settings, once those of the engine and of access control are known; `serve` knows
// which options were given. Returns what is wrong with them, if anything.
std::optional<std::string> SettleIsolation(const CLI::App& serve, ServeSettings* settings);

}  // namespace stator::server
