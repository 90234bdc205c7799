// Starts the language server for the folder, and leaves the rest to the client library.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate() {
  const settings = workspace.getConfiguration("hearth");
  const [command, ...args] = settings.get("command");
  const server = { command, args };
  const options = {
    documentSelector: [
      { language: "yaml", scheme: "file" },
      { language: "yaml", scheme: "untitled" },
      { language: "json", scheme: "file" },
    ],
    initializationOptions: { environments: settings.get("environments") },
    synchronize: { configurationSection: "hearth" },
  };
  client = new LanguageClient("hearth", "Hearth templates", server, options);
  await client.start();
}

async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate };
