#include "management/routes.h"

#include <algorithm>

#include "management/reply.h"

namespace stator::management {
namespace {

constexpr std::string_view kName = "NAME";

// Returns the segment at NAME, empty if the pattern has none; nullopt: the path does not match.
std::optional<std::string_view> Match(std::string_view pattern, std::string_view path) {
  const size_t at = pattern.find(kName);
  if (at == std::string_view::npos)
    return pattern == path ? std::optional<std::string_view>(std::string_view()) : std::nullopt;
  const std::string_view before = pattern.substr(0, at);
  const std::string_view behind = pattern.substr(at + kName.size());
  if (path.size() <= before.size() + behind.size() || !path.starts_with(before) ||
      !path.ends_with(behind)) {
    return std::nullopt;
  }
  const std::string_view name =
      path.substr(before.size(), path.size() - before.size() - behind.size());
  return name.find('/') == std::string_view::npos ? std::optional(name) : std::nullopt;
}

}  // namespace

Routes::Found Routes::Find(std::string_view method, std::string_view path) const {
  Found found;
  for (const Route& route : rows_) {
    const std::optional<std::string_view> name = Match(route.path, path);
    if (!name) continue;
    if (route.method == method) return {&route, *name, {}};
    if (!found.allowed.empty()) found.allowed += ", ";
    found.allowed += route.method;
  }
  return found;
}

std::string Routes::Index() const {
  std::vector<const Route*> rows;
  for (const Route& route : rows_) rows.push_back(&route);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Route* a, const Route* b) { return a->path < b->path; });
  JsonWriter json;
  json.Open('{').Key("calls").Open('[');
  for (const Route* route : rows) {
    json.Open('{').Field("method", route->method).Field("path", route->path);
    json.Field("does", route->does).Close('}');
  }
  json.Close(']').Close('}');
  return json.Take();
}

Call CallOf(const http::Request& request) {
  Call call;
  call.method = request.method;
  const size_t cut = std::min(request.target.find('?'), request.target.size());
  call.path = request.target.substr(0, cut);
  call.query = request.target.substr(std::min(cut + 1, request.target.size()));
  call.body = request.body;
  call.accept = request.header("Accept");
  return call;
}

}  // namespace stator::management
