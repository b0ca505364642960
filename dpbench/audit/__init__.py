"""Try a mechanism's privacy claim on made-up neighbouring tables. docs/privacy.md says what each level can see."""
