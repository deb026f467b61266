#include "server/cert_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "http/certificates.h"

namespace stator::server {
namespace {

namespace fs = std::filesystem;

constexpr int kAuthorityDays = 3650;
constexpr mode_t kForAll = 0644, kForOwner = 0600;
constexpr size_t kLongestFile = 64 << 10;

struct NewFile {
  fs::path path;
  mode_t mode;
  std::string text;
};

Result<std::string> ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ValidationError(fmt::format("cannot read {}", path.string()));
  std::string text(kLongestFile, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

Status Write(const NewFile& file) {
  const int fd = ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file.mode);
  if (fd < 0) {
    return ValidationError(
        fmt::format("cannot make {}: {}", file.path.string(), std::strerror(errno)));
  }
  const bool written =
      ::write(fd, file.text.data(), file.text.size()) == static_cast<ssize_t>(file.text.size()) &&
      ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  if (written) return OkStatus();
  ::unlink(file.path.c_str());
  return ValidationError(
      fmt::format("cannot write {}: {}", file.path.string(), std::strerror(error)));
}

// All of the files, or none.
Status WriteAll(const std::vector<NewFile>& files) {
  for (const NewFile& file : files) {
    std::error_code error;
    if (fs::exists(fs::symlink_status(file.path, error))) {
      return ValidationError(
          fmt::format("{} exists: choose another --out, or remove the file", file.path.string()));
    }
  }
  for (size_t i = 0; i < files.size(); ++i) {
    const Status written = Write(files[i]);
    if (written.ok()) continue;
    while (i-- > 0) ::unlink(files[i].path.c_str());
    return written;
  }
  return OkStatus();
}

std::vector<std::string> HostsOf(const CertCommand& command) {
  std::vector<std::string> hosts = command.hosts;
  for (const char* host : {"localhost", "127.0.0.1", "::1"}) {
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.emplace_back(host);
  }
  return hosts;
}

void PrintUse(const fs::path& out, const fs::path& authority, const CertCommand& command) {
  if (!command.client.empty()) {
    fmt::print("\nServer:  stator serve ... --tls-client-ca={}\n", (authority / "ca.pem").string());
    fmt::print("Clients: curl --cert {} --key {} --cacert {} https://...\n",
               (out / "client.pem").string(), (out / "client.key").string(),
               (authority / "ca.pem").string());
    return;
  }
  const std::string ca = (authority / "ca.pem").string();
  fmt::print("\nServer:   stator serve --tls-cert={} --tls-key={}\n", (out / "server.pem").string(),
             (out / "server.key").string());
  fmt::print("Clients:  export AWS_ENDPOINT_URL=https://{}:8000\n", HostsOf(command).front());
  fmt::print("          export AWS_CA_BUNDLE={}          # AWS CLI, boto3, Go\n", ca);
  fmt::print("          export NODE_EXTRA_CA_CERTS={}    # Node.js\n", ca);
  fmt::print("          curl --cacert {} https://...\n", ca);
}

Status Make(const CertCommand& command) {
  if (!command.client.empty() && !command.hosts.empty())
    return ValidationError("--host is for a server's certificate, --client for a client's");
  std::error_code error;
  const fs::path out = fs::absolute(command.out_dir, error).lexically_normal();
  const bool own_authority = command.authority_dir.empty();
  const fs::path authority_dir =
      own_authority ? out : fs::absolute(command.authority_dir, error).lexically_normal();
  http::KeyedCertificate authority;
  std::vector<NewFile> files;
  if (own_authority) {
    ASSIGN_OR_RETURN(authority, http::MakeAuthority("Stator CA", kAuthorityDays));
    files.push_back({out / "ca.key", kForOwner, authority.key});
    files.push_back({out / "ca.pem", kForAll, authority.certificate});
  } else {
    ASSIGN_OR_RETURN(authority.certificate, ReadFile(authority_dir / "ca.pem"));
    ASSIGN_OR_RETURN(authority.key, ReadFile(authority_dir / "ca.key"));
  }
  const bool client = !command.client.empty();
  const std::vector<std::string> hosts = HostsOf(command);
  ASSIGN_OR_RETURN(http::KeyedCertificate made,
                   client ? http::MakeClientCertificate(authority, command.client, command.days)
                          : http::MakeServerCertificate(authority, hosts, command.days));
  files.push_back({out / (client ? "client.key" : "server.key"), kForOwner, std::move(made.key)});
  files.push_back(
      {out / (client ? "client.pem" : "server.pem"), kForAll, std::move(made.certificate)});
  fs::create_directories(out, error);
  if (error)
    return ValidationError(fmt::format("cannot make {}: {}", out.string(), error.message()));
  TRY(WriteAll(files));

  if (own_authority) {
    fmt::print("{}: authority for {} days; clients trust it\n", (out / "ca.pem").string(),
               kAuthorityDays);
    fmt::print("{}: its key; keep it where no server runs\n", (out / "ca.key").string());
  }
  std::string names = command.client;
  if (!client) {
    for (const std::string& host : hosts) names += (names.empty() ? "" : ", ") + host;
  }
  fmt::print("{}: certificate for {}, for {} days\n", files.back().path.string(), names,
             command.days);
  fmt::print("{}: its key\n", (files.end() - 2)->path.string());
  PrintUse(out, authority_dir, command);
  return OkStatus();
}

}  // namespace

int Execute(const CertCommand& command) {
  const Status made = Make(command);
  if (made.ok()) return 0;
  fmt::print(stderr, "{}\n", made.error().message());
  return 1;
}

}  // namespace stator::server
