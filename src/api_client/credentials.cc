#include "api_client/credentials.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string_view>
#include <utility>

#include "base/ascii.h"

namespace stator::api_client {
namespace {

using Section = std::map<std::string, std::string>;

constexpr std::string_view kBlank = " \t\r";

// The members of a section of the files that the AWS CLI writes; none if there is no such file or
// section.
Section ReadSection(const std::string& path, std::string_view name) {
  constexpr size_t kMostLine = 8192;
  Section section;
  std::ifstream in(path);
  std::string line;
  bool inside = false;
  while (std::getline(in, line) && line.size() < kMostLine) {
    const std::string_view text = Trim(line, kBlank);
    if (text.empty() || text[0] == '#' || text[0] == ';') continue;
    if (text.front() == '[' && text.back() == ']') {
      inside = Trim(text.substr(1, text.size() - 2), kBlank) == name;
      continue;
    }
    const size_t equals = text.find('=');
    if (!inside || equals == std::string_view::npos) continue;
    section.emplace(Trim(text.substr(0, equals), kBlank), Trim(text.substr(equals + 1), kBlank));
  }
  return section;
}

std::string Find(const Section& section, const std::string& name) {
  const auto found = section.find(name);
  return found == section.end() ? std::string() : found->second;
}

}  // namespace

Variables ProcessEnvironment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

Variables WithProfile(Variables variables, std::string profile) {
  if (profile.empty()) return variables;
  return [variables = std::move(variables),
          profile = std::move(profile)](const std::string& name) -> std::optional<std::string> {
    if (name == "AWS_PROFILE") return profile;
    const bool key = name == "AWS_ACCESS_KEY_ID" || name == "AWS_SECRET_ACCESS_KEY" ||
                     name == "AWS_SESSION_TOKEN";
    return key ? std::nullopt : variables(name);
  };
}

Result<Credentials> FindCredentials(const Variables& variables) {
  const std::string home = variables("HOME").value_or("");
  const std::string keys_path =
      variables("AWS_SHARED_CREDENTIALS_FILE").value_or(home + "/.aws/credentials");
  const std::string config_path = variables("AWS_CONFIG_FILE").value_or(home + "/.aws/config");
  std::optional<std::string> named = variables("AWS_PROFILE");
  if (!named) named = variables("AWS_DEFAULT_PROFILE");
  const std::string profile = named.value_or("default");
  const Section config =
      ReadSection(config_path, profile == "default" ? profile : "profile " + profile);

  Credentials found;
  found.region = Find(config, "region");
  if (found.region.empty()) found.region = "us-east-1";
  for (const char* variable : {"AWS_DEFAULT_REGION", "AWS_REGION"})
    found.region = variables(variable).value_or(found.region);

  const std::optional<std::string> id = variables("AWS_ACCESS_KEY_ID");
  const std::optional<std::string> secret = variables("AWS_SECRET_ACCESS_KEY");
  if (id.has_value() != secret.has_value())
    return ValidationError("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY go together: one is set");
  if (id) {
    found.key = {*id, *secret, variables("AWS_SESSION_TOKEN").value_or("")};
    found.source = "AWS_ACCESS_KEY_ID";
    return found;
  }
  for (const auto& [path, section] :
       {std::pair(keys_path, ReadSection(keys_path, profile)), std::pair(config_path, config)}) {
    const std::string key_id = Find(section, "aws_access_key_id");
    if (key_id.empty()) continue;
    found.key = {key_id, Find(section, "aws_secret_access_key"),
                 Find(section, "aws_session_token")};
    if (found.key.secret.empty())
      return ValidationError(
          fmt::format("The profile {} in {} has no aws_secret_access_key", profile, path));
    found.source = fmt::format("profile {} of {}", profile, path);
    return found;
  }
  if (named) {
    return ValidationError(fmt::format("The profile {} has no aws_access_key_id in {} or {}",
                                       profile, keys_path, config_path));
  }
  found.key = {"STATOR", "none", ""};
  found.source = "none";
  found.is_made_up = true;
  return found;
}

}  // namespace stator::api_client
