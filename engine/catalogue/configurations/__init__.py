"""What a `config.json` describes, by kind: text, pictures, sound, pipelines, and the parts that they share."""
