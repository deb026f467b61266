#include "console/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/compress.h"
#include "console/files.h"

namespace stator::console {
namespace {

constexpr std::string_view kRoot = "/console/";
constexpr std::string_view kAssets = "assets/";
constexpr size_t kLongestInflated = 16 << 20;

constexpr std::pair<std::string_view, std::string_view> kHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
     "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

bool IsRead(std::string_view method) { return method == "GET" || method == "HEAD"; }

http::Reply Headed(int status) {
  http::Reply reply;
  reply.status = status;
  for (const auto& [name, value] : kHeaders) reply.headers.emplace_back(name, value);
  return reply;
}

http::Reply Text(int status, std::string body) {
  http::Reply reply = Headed(status);
  reply.headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  reply.body = std::move(body);
  return reply;
}

http::Reply Redirect(std::string location) {
  http::Reply reply = Headed(302);
  reply.headers.emplace_back("Location", std::move(location));
  reply.headers.emplace_back("Cache-Control", "no-store");
  return reply;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Calls with each element of a comma-separated list.
template <typename Function>
void ForEachElement(std::string_view list, const Function& call) {
  while (!list.empty()) {
    const size_t cut = std::min(list.find(','), list.size());
    call(Trimmed(list.substr(0, cut)));
    list.remove_prefix(std::min(cut + 1, list.size()));
  }
}

// Whether an Accept-Encoding takes gzip: it is named, or *, and not with a weight of 0.
bool TakesGzip(std::string_view accepted) {
  bool takes = false;
  ForEachElement(accepted, [&takes](std::string_view element) {
    const size_t cut = std::min(element.find(';'), element.size());
    const std::string_view name = Trimmed(element.substr(0, cut));
    if (name != "gzip" && name != "x-gzip" && name != "*") return;
    std::string_view weight = Trimmed(element.substr(std::min(cut + 1, element.size())));
    takes = !weight.starts_with("q=") || weight.find_first_of("123456789") != weight.npos;
  });
  return takes;
}

// Whether an If-None-Match names this tag.
bool Matches(std::string_view tags, std::string_view etag) {
  bool matches = false;
  ForEachElement(tags, [&](std::string_view tag) {
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    matches |= tag == "*" || (tag.size() == etag.size() + 2 && tag.front() == '"' &&
                              tag.substr(1, etag.size()) == etag);
  });
  return matches;
}

const File* Find(std::string_view path) {
  const std::span<const File> files = Files();
  const auto found =
      std::lower_bound(files.begin(), files.end(), path,
                       [](const File& file, std::string_view p) { return file.path < p; });
  return found != files.end() && found->path == path ? &*found : nullptr;
}

http::Reply Send(const File& file, const http::Request& request) {
  const bool unchanged = Matches(request.header("If-None-Match"), file.etag);
  http::Reply reply = Headed(unchanged ? 304 : 200);
  reply.headers.emplace_back("ETag", fmt::format("\"{}\"", file.etag));
  reply.headers.emplace_back("Cache-Control",
                             file.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  reply.headers.emplace_back("Vary", "Accept-Encoding");
  if (unchanged) return reply;
  reply.headers.emplace_back("Content-Type", file.type);
  if (TakesGzip(request.header("Accept-Encoding"))) {
    reply.headers.emplace_back("Content-Encoding", "gzip");
    reply.body = file.gzip;
    return reply;
  }
  Result<std::string> inflated = Decompress(Encoding::kGzip, file.gzip, kLongestInflated);
  if (!inflated.ok()) return Text(500, "The file is damaged in this build of the server\n");
  reply.body = *std::move(inflated);
  return reply;
}

}  // namespace

bool Pages::Owns(const http::Request& request) const {
  const std::string_view target = request.target;
  if (target.size() == 1 || target.starts_with("/?")) {
    return on_ && IsRead(request.method) && !Files().empty() &&
           request.header("Accept").find("text/html") != std::string_view::npos;
  }
  const std::string_view path = PathOf(target);
  return path == "/console" || path.starts_with(kRoot) || path == "/shell" || path == "/shell/";
}

http::Reply Pages::Answer(const http::Request& request) const {
  if (!IsRead(request.method)) {
    http::Reply reply = Text(405, "The console is read with GET\n");
    reply.headers.emplace_back("Allow", "GET, HEAD");
    return reply;
  }
  if (!on_) return Text(404, "The console is switched off: --console=off\n");
  if (Files().empty()) {
    return Text(404,
                "This build of the server has no console: it was built with STATOR_CONSOLE=OFF\n");
  }
  const std::string_view path = PathOf(request.target);
  // Relative, so that a proxy may have a prefix in front.
  if (!path.starts_with(kRoot)) return Redirect(path == "/shell/" ? "../console/" : "console/");
  const std::string_view name = path.substr(kRoot.size());
  if (const File* file = Find(name.empty() ? "index.html" : name);
      file != nullptr && (name.empty() || file->immutable)) {
    return Send(*file, request);
  }
  // A page of another version asks for files that are gone; leading it to index.html would give it
  // HTML for a script.
  if (name.starts_with(kAssets)) return Text(404, "There is no such file. Reload the page.\n");
  std::string up;
  for (const char c : name) up += c == '/' ? "../" : "";
  return Redirect(up.empty() ? "./" : up);
}

}  // namespace stator::console
