#include "server/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace stator::server {
namespace {

// The optimal string alignment distance: insertions, deletions, replacements, swapped neighbors.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::vector<const CLI::App*> AppsOf(const CLI::App& app) {
  std::vector<const CLI::App*> apps = {&app};
  for (const CLI::App* command : app.get_subcommands()) apps.push_back(command);
  return apps;
}

// A value of the environment is reported under the flag's name: says the variable's instead.
std::string NameVariable(std::string message, const CLI::App& app,
                         const std::vector<std::string>& arguments) {
  const std::string flag = message.substr(0, message.find(':'));
  const bool given = std::any_of(arguments.begin(), arguments.end(), [&](const std::string& each) {
    return each == flag || each.starts_with(flag + "=");
  });
  if (!flag.starts_with("--") || given) return message;
  for (const CLI::App* each : AppsOf(app)) {
    const CLI::Option* option = each->get_option_no_throw(flag);
    if (option == nullptr || option->get_envname().empty()) continue;
    if (std::getenv(option->get_envname().c_str()) == nullptr) continue;
    return option->get_envname() + message.substr(flag.size());
  }
  return message;
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  size_t least = word.size() / 3 + 1;
  for (const std::string& each : known) {
    const size_t distance = Distance(word, each);
    if (distance >= least) continue;
    least = distance;
    best = each;
  }
  return best;
}

std::string ExplainUsage(const CLI::ParseError& error, const CLI::App& app,
                         const std::vector<std::string>& arguments,
                         const std::vector<std::string>& local_flags) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr)
    return NameVariable(error.what(), app, arguments);
  const std::vector<std::string> extras = app.remaining(true);
  const auto flag = std::find_if(extras.begin(), extras.end(),
                                 [](const std::string& each) { return each.starts_with("-"); });
  if (flag == extras.end()) return error.what();
  const std::string name = flag->substr(0, flag->find('='));
  std::vector<std::string> known = local_flags;
  for (const CLI::App* each : AppsOf(app)) {
    for (const CLI::Option* option : each->get_options()) {
      for (const std::string& spelling : option->get_lnames()) known.push_back("--" + spelling);
    }
  }
  const std::string nearest = Nearest(name, known);
  return nearest.empty() ? fmt::format("there is no flag {}", name)
                         : fmt::format("there is no flag {}; did you mean {}?", name, nearest);
}

}  // namespace stator::server
