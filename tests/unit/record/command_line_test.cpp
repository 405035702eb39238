#include "core/record/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilescope::record {

namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

// The secret of every case; the words differ in how they name it.
const std::string kSecret = "S3cretV4lue";
const std::vector<Words>& secrets()
{
    static const std::vector<Words> all{
        // options and variables
        {"--api-key", "S3cretV4lue"},
        {"--api-key=S3cretV4lue"},
        {"--api-key", "-S3cretV4lue"},
        {"--api-key", "--S3cretV4lue"},
        {"--use-token", "--api-key", "S3cretV4lue"},
        {"--token", "S3cretV4lue"},
        {"-token", "S3cretV4lue"},
        {"--PASSWORD", "S3cretV4lue"},
        {"--passwd", "S3cretV4lue"},
        {"--pwd=S3cretV4lue"},
        {"--pass", "S3cretV4lue"},
        {"--db-pass=S3cretV4lue"},
        {"--dbpass", "S3cretV4lue"},
        {"--passphrase", "S3cretV4lue"},
        {"--auth", "S3cretV4lue"},
        {"--oauth", "S3cretV4lue"},
        {"--authorization=S3cretV4lue"},
        {"--credentials", "S3cretV4lue"},
        {"--cred", "S3cretV4lue"},
        {"--bearer", "S3cretV4lue"},
        {"--client-secret", "S3cretV4lue"},
        {"--accessKey", "S3cretV4lue"},
        {"--hfToken", "S3cretV4lue"},
        {"--apikey", "S3cretV4lue"},
        {"--cookie", "a=S3cretV4lue"},
        {"--key", "S3cretV4lue"},
        {"HF_TOKEN=S3cretV4lue"},
        {"HFTOKEN=S3cretV4lue"},
        {"AWS_SECRET_ACCESS_KEY=S3cretV4lue"},
        {"WANDB_API_KEY='S3cretV4lue'"},
        {"PGPASSWORD=S3cretV4lue"},
        {"MYSQL_PWD=S3cretV4lue"},
        {"MY_SECRET=S3cretV4lue,and S3cretV4lue"},
        {"--token=", "S3cretV4lue"},
        {"token:", "S3cretV4lue"},
        // in the middle of a word
        {"--opt", "a=1,secret=S3cretV4lue"},
        {"--opt", "a=1,secret=S3cretV4lue,b=2"},
        {"--opt=secret=S3cretV4lue"},
        {"+trainer.api_key=S3cretV4lue"},
        {"++hub.token=S3cretV4lue"},
        {"trainer.logger.key:S3cretV4lue"},
        {"--set", "env.HF_TOKEN=S3cretV4lue"},
        {"-DPASSWORD=S3cretV4lue"},
        {"--env=HF_TOKEN=S3cretV4lue"},
        {"--from-literal=password=S3cretV4lue"},
        {"a;b;token=S3cretV4lue"},
        // commands of a shell and of Python
        {"bash", "-c", "A=1 HF_TOKEN=S3cretV4lue python s.py"},
        {"bash", "-c", "export HF_TOKEN=S3cretV4lue; python s.py"},
        {"bash", "-c", "HF_TOKEN=\"a S3cretV4lue\" python s.py"},
        {"bash", "-c", "HF_TOKEN=a\\ S3cretV4lue python s.py"},
        {"bash", "-c", "python s.py --api-key S3cretV4lue --lr 1"},
        {"bash", "-c", "python s.py --api-key 'x S3cretV4lue' --lr 1"},
        {"bash", "-c", "python s.py --use-token --api-key S3cretV4lue"},
        {"bash", "-c", "PASSWORD=ab)cdS3cretV4lue python s.py"},
        {"python", "-c", "login(token='S3cretV4lue')"},
        {"python", "-c", "os.environ['HF_TOKEN'] = 'S3cretV4lue'"},
        {"python", "-c", "f(password = \"x, y=S3cretV4lue\", n=1)"},
        {"sh", "-c", "curl -H \"Authorization: Bearer S3cretV4lue\" h"},
        // headers
        {"--header=Authorization: Bearer S3cretV4lue"},
        {"-H", "Authorization: Basic S3cretV4lue"},
        {"-H", "Authorization: Token S3cretV4lue"},
        {"-H", "X-Api-Key: S3cretV4lue"},
        {"-H", "x-auth-token:S3cretV4lue"},
        {"-H", "Proxy-Authorization: Digest username=\"a\", response=\"S3cretV4lue\""},
        {"-H", "Cookie: session=1; id=S3cretV4lue"},
        {"-H", "Authorization:", "Bearer", "S3cretV4lue"},
        {"Bearer", "S3cretV4lue"},
        {"bearer S3cretV4lue"},
        // JSON, YAML and others
        {"{\"api_key\": \"S3cretV4lue\"}"},
        {"{\"a\": {\"password\" : \"x\\\"S3cretV4lue\"}}"},
        {"{'token': 'S3cretV4lue', 'a': 1}"},
        {"{\\\"api_key\\\": \\\"S3cretV4lue\\\"}"},
        {"{api_key: S3cretV4lue, b: 2}"},
        {"{\"tokens\": [\"a\", \"S3cretV4lue\"]}"},
        {"{\"credentials\": {\"user\": \"a\", \"value\": \"S3cretV4lue\"}}"},
        {"password: S3cretV4lue"},
        {"token=>S3cretV4lue"},
        // addresses
        {"https://user:S3cretV4lue@host/"},
        {"https://S3cretV4lue@github.com/a/b"},
        {"https://S3cretV4lue:x-oauth-basic@github.com/a/b"},
        {"postgresql+psycopg2://user:p@S3cretV4lue@host:5432/db"},
        {"redis://:S3cretV4lue@host"},
        {"redis://:a/S3cretV4lue@host"},
        {"ssh://user:S3cretV4lue@host"},
        {"git+https://user:S3cretV4lue@host/r.git"},
        {"user:S3cretV4lue@host"},
        {"https://h/?a=1&token=S3cretV4lue"},
        {"https://h/?token=S3cretV4lue&a=1"},
        {"https://h/?X-Amz-Signature=S3cretV4lue"},
        {"https://h/?sv=1&sig=S3cretV4lue"},
        {"https://h/#access_token=S3cretV4lue"},
        {"https://h/?next=%2F%3Ftoken%3DS3cretV4lue"},
        {"curl", "-u", "user:S3cretV4lue"},
        {"--proxy=http://user:S3cretV4lue@proxy:3128"},
        // by their form
        {"hf_abcdefghij1234567890S3cretV4lue"},
        {"x/sk-proj-abcdefghijkl1S3cretV4lue"},
        {"ghp_abcdefghijklmno1S3cretV4lue"},
        {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.S3cretV4lue"},
        {"wandb", "login", "0123456789abcdefS3cretV4lue"},
        // options of programs, files, addresses and calls
        {"--hf_token=S3cretV4lue"},
        {"mysql", "-pS3cretV4lue"},
        {"sshpass", "-p", "S3cretV4lue", "ssh", "h"},
        {"redis-cli", "-a", "S3cretV4lue"},
        {"curl", "--user", "u:S3cretV4lue"},
        {"curl", "-uuser:S3cretV4lue"},
        {"psql", "postgres://u:S3cretV4lue@h/d?sslmode=x"},
        {"psql", "host=h password=S3cretV4lue dbname=x"},
        {"--connection-string=Server=h;Pwd=S3cretV4lue;"},
        {"DefaultEndpointsProtocol=https;AccountKey=S3cretV4lue;EndpointSuffix=x"},
        {"Endpoint=sb://x/;SharedAccessKey=S3cretV4lue"},
        {"--config={\"wandb\":{\"apiKey\":\"S3cretV4lue\"}}"},
        {"PRIVATE_KEY=-----BEGIN PRIVATE KEY----- S3cretV4lue"},
        {"-----BEGIN RSA PRIVATE KEY-----\nS3cretV4lue\n-----END RSA PRIVATE KEY-----"},
        {"xoxb-1234567890-S3cretV4lue"},
        {"glpat-abcdefgS3cretV4lue"},
        {"npm_abcdefghijklmnopqrstuvwS3cretV4lue"},
        {"AIzaSyabcdefghijklmnopqS3cretV4lueabcdef"},
        {"github_pat_11ABCDEFG_S3cretV4lueabcdef"},
        {"sk-ant-api03-abcdefgS3cretV4lue"},
        {"pypi-AgEIcHlwaS3cretV4lueabcdef"},
        {"openssl", "enc", "-pass", "pass:S3cretV4lue"},
        {"-passin", "pass:S3cretV4lue"},
        {"--header", "PRIVATE-TOKEN: S3cretV4lue"},
        {"-d", "grant_type=x&client_secret=S3cretV4lue"},
        {"https://hooks.slack.com/services/T000/B000/S3cretV4lue"},
        {"https://discord.com/api/webhooks/123/S3cretV4lue"},
        {"tailscale", "up", "--authkey", "tskey-S3cretV4lue"},
        {"--license-key", "S3cretV4lue"},
        {"--otp", "S3cretV4lue"},
        {"--encryption_key", "S3cretV4lue"},
        {"ANTHROPIC_AUTH=S3cretV4lue"},
        {"--token", "\"x S3cretV4lue\""},
        {"TOKEN+=S3cretV4lue"},
        {"HF_TOKEN:=S3cretV4lue"},
        {"--jwt=S3cretV4lue"},
        {"export", "TOKEN", "=", "S3cretV4lue"},
        {"vault", "login", "s.S3cretV4lueabcdefgh"},
        {"hvs.CAESIS3cretV4lueabcdefgh"},
        {"dckr_pat_S3cretV4lueabcdef"},
        {"nvapi-S3cretV4lueabcdefghij"},
        {"r8_S3cretV4lueabcdefghijklmno"},
        {"gsk_S3cretV4lueabcdefghijk"},
        {"--wandb-key", "S3cretV4lue"},
        {"SENTRY_DSN=https://S3cretV4lue@o1.ingest.sentry.io/1"},
        {"MONGO=mongodb+srv://u:S3cretV4lue@c/d"},
        {"--pg-pw", "S3cretV4lue"},
        {"--passcode=S3cretV4lue"},
        {"AWS_SESSION_TOKEN=S3cretV4lue"},
        {"ya29.S3cretV4lueabcdefghijklmn"},
        {"--salt=S3cretV4lue"},
        {"bash", "-c", "echo S3cretV4lue | docker login -u a --password-stdin"},
        {"bash", "-c", "read -r TOKEN <<< S3cretV4lue"},
        {"bash", "-c", "TOKEN=$(echo S3cretV4lue) python x"},
        {"<password>S3cretV4lue</password>"},
        {"--api_key='S3cretV4lue'"},
        {"\"api-key\"=\"S3cretV4lue\""},
        {"python", "-c", "import wandb; wandb.login(key=\"S3cretV4lue\")"},
        {"python", "-c", "os.environ.update(HF_TOKEN='S3cretV4lue')"},
        {"python", "-c", "os.environ.setdefault('HF_TOKEN', 'S3cretV4lue')"},
        {"python", "-c", "os.putenv('API_KEY','S3cretV4lue')"},
        {"python", "-c", "login('S3cretV4lue')"},
        // sentences
        {"tool", "set", "password", "to", "S3cretV4lue"},
        {"tool", "set", "password", "S3cretV4lue"},
        {"expect", "-c", "send \"set password to S3cretV4lue\\r\""},
        {"sql", "Set the new PASSWORD of root to S3cretV4lue; go"},
        {"the password is S3cretV4lue, keep it"},
        {"the", "password", "for", "root", "was", "S3cretV4lue"},
        {"redis-cli", "CONFIG", "SET", "requirepass", "S3cretV4lue"},
        {"bash", "-c", "redis-cli config set requirepass S3cretV4lue && python x"},
        {"aws", "configure", "set", "aws_secret_access_key", "S3cretV4lue"},
        {"bash", "-c", "aws configure set aws_session_token S3cretV4lue"},
        {"gcloud", "config", "set", "auth/password", "S3cretV4lue"},
        {"pip", "config", "set", "global.password", "S3cretV4lue"},
        {"git", "config", "--global", "github.token", "S3cretV4lue"},
        {"psql", "-c", "ALTER USER a WITH PASSWORD 'S3cretV4lue'"},
        {"psql", "-c", "CREATE USER a PASSWORD 'S3cretV4lue' LOGIN"},
        {"sql", "-e", "CREATE USER a IDENTIFIED BY 'S3cretV4lue'"},
        {"sql", "-e", "ALTER USER a IDENTIFIED WITH native_password BY \"S3cretV4lue\""},
        {"sql", "-e", "create user a identified by S3cretV4lue"},
        {"bash", "-c", "docker login -u bob -p S3cretV4lue host"},
        {"az", "login", "--service-principal", "-u", "app", "-p", "S3cretV4lue", "--tenant", "t"},
        {"openssl", "enc", "-aes-256-cbc", "-k", "S3cretV4lue", "-in", "a"},
        {"ssh-keygen", "-N", "S3cretV4lue", "-f", "k"},
        {"nmcli", "dev", "wifi", "connect", "net", "password", "S3cretV4lue"},
        {"the passphrase of the key is S3cretV4lue"},
        {"the PASSWORD is: S3cretV4lue"},
        {"decrypt it with the key S3cretV4lue please"},
        {"please log in with password S3cretV4lue and start"},
        {"log in as bob with the token \"S3cretV4lue\""},
        {"python", "-c", "requests.get(u, auth=('bob', 'S3cretV4lue'))"},
        {"python", "s.py", "--login", "bob:S3cretV4lue"},
        {"tool", "--user=bob:S3cretV4lue"},
        {"bash", "-c", "curl -s -u bob:S3cretV4lue http://h/"},
        {"bash", "-c", "curl --user 'bob:S3cretV4lue' http://h/ && python x"},
        {"--dsn=mysql://secret:S3cretV4lue@db/x", "abc123x"},
    };
    return all;
}

TEST(MaskedCommandLine, MasksSecretsInEverySpelling)
{
    for (const Words& words : secrets())
        EXPECT_THAT(maskedCommandLine(words), Not(HasSubstr(kSecret))) << ::testing::PrintToString(words);
    EXPECT_GE(secrets().size(), 120U);
}

TEST(MaskedCommandLine, KeepsWhatIsCertainlyNoSecret)
{
    for (const Words& words :
         std::vector<Words>{{"python", "train.py", "--steps", "10", "--lr=1"},
                            {"--tokenizer", "gpt2"},
                            {"--tokenizer=gpt2"},
                            {"tokenizer.name=gpt2"},
                            {"TOKENIZERS_PARALLELISM=false"},
                            {"--max-tokens", "100"},
                            {"--max_new_tokens=4_096"},
                            {"--max-token-length", "77"},
                            {"--num-keys", "5"},
                            {"--num-key-value-heads", "8"},
                            {"model.key_dim=64"},
                            {"--eos-token", "</s>"},
                            {"--pad_token=[PAD]"},
                            {"--keyboard", "de"},
                            {"--monkeypatch", "x"},
                            {"--author", "Ada"},
                            {"--use-auth-token", "true"},
                            {"--bypass", "cache"},
                            {"PWD=/home/ada"},
                            {"https://host:8080/path/v1@main"},
                            {"ssh://git@host/r.git"},
                            {"python:3.11@sha256:0123"},
                            {"basic training"},
                            {"mysql", "-p", "db"},
                            {"ssh", "-p", "22", "host"},
                            {"docker", "run", "-p", "8080:80", "image"},
                            {"bash", "-c", "echo a | wc -l"},
                            {"<name>a</name>"},
                            {"https://host/a/b?c=d"},
                            {"bash", "-c", "cd /tmp && OMP_NUM_THREADS=2 python s.py --a b"},
                            {"{\"lr\": 0.1, \"name\": \"a\"}"},
                            {"reset the password to continue"},
                            {"a password is required"},
                            {"reset", "password", "to", "log", "in"},
                            {"set the pad_token to 0 and max_tokens to 10"},
                            {"tool", "set", "max_tokens", "to", "10"},
                            {"redis-cli", "set", "key", "value"},
                            {"set", "eos_token", "to", "</s>"},
                            {"git", "config", "user.name", "Ada"},
                            {"the token is decoded by the tokenizer"},
                            {"sorted by 'name'"},
                            {"set password policy to strict"},
                            {"bash", "-c", "docker login host && docker run -p 8080:80 image"},
                            {"a password of the form letters and digits"},
                            {"docker", "run", "-u", "1000:1000", "image"},
                            {"bash", "-c", "docker run -u 1000:1000 image"},
                            {"sort by the key layer1.weight and the token Token2"},
                            {"--sort-key", "loss", "--group_key=user", "--query-key-norm", "rms"},
                            {"--pass-rate", "0.9", "--n-pass", "2"},
                            {"password protected files of phase2 are skipped"},
                            {"use the token \"<0x0A>\" and the token '50256'"},
                            {"tool", "set", "bypass", "on"},
                            {"python", "-c", "s = set(); secret_santa(s)"}}) {
        std::string line;
        for (const std::string& word : words)
            line += (line.empty() ? "" : " ") + word;
        EXPECT_EQ(maskedCommandLine(words), line);
    }
}

TEST(MaskedCommandLine, KeepsWhatStandsBesideASecret)
{
    EXPECT_EQ(maskedCommandLine({"a", "--api-key", "x", "--HF_TOKEN=y", "MY_SECRET=z", "--password"}),
              "a --api-key *** --HF_TOKEN=*** MY_SECRET=*** --password");
    EXPECT_EQ(maskedCommandLine({"bash", "-c", "A=1 HF_TOKEN=x python s.py"}),
              "bash -c A=1 HF_TOKEN=*** python s.py");
    EXPECT_EQ(maskedCommandLine({"--opt", "a=1,secret=x,b=2"}), "--opt a=1,secret=***,b=2");
    EXPECT_EQ(maskedCommandLine({"https://h/?token=x&a=1"}), "https://h/?token=***&a=1");
    EXPECT_EQ(maskedCommandLine({"https://user:x@host/path"}), "https://***@host/path");
    EXPECT_EQ(maskedCommandLine({"{\"api_key\": \"x\", \"a\": 1}"}), "{\"api_key\": ***, \"a\": 1}");
    EXPECT_EQ(maskedCommandLine({"python s.py --api-key x --lr 1"}), "python s.py --api-key *** --lr 1");
}

} // namespace

} // namespace tilescope::record
